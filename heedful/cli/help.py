"""The texts of ``heedful train --help`` and ``heedful evaluate --help``: one screen each, written by hand."""

COMMON = """\
  --evaluations NAME,NAME    only these evaluations; see heedful list
  --slices COLUMN,COLUMN     break the numbers down by these columns
  --attentiveness.draws K    swaps per example and part; 1 in training, else 5
  --trainer.devices N        processes: GPUs, or CPU processes
  --trainer.precision P      such as bf16-mixed
  --seed N                   seed of everything random (0)
  --output DIR               folder of the results; by default in runs/
  --config FILE              settings from a YAML file
"""

TRAIN = f"""\
usage: {{program}} [settings]

Train a classifier over paired inputs, and measure after every epoch whether it
uses every part of them.

  --data NAME                mnli, rte, ..., or a YAML file (planted)
  --data.path PATH           its files, if they are not from the hub
  --model NAME               minilm, ..., a hub id, or a folder (minilm)
  --augment NAME             counterfactual, or another experiment
  --partial PART             train on one part only
  --init_from RUN            start from the model of a finished run
  --resume RUN               resume a stopped run
  --debug NAME               try a run: fast, overfit or profile
  --trainer.max_epochs N     epochs (2)
  --model.learning_rate X    the highest learning rate (0.0001)
  --model.max_length N       maximum number of tokens per input (256)
  --data.batch_size N        examples per step and device (32)
  --data.max_train N         largest number of training examples
{COMMON}
examples:
  {{program}}
      MiniLM on the generated data, in minutes
  {{program}} --data mnli --augment counterfactual
      MNLI from the hub, with counterfactual examples
  {{program}} --data mnli --data.path DIR --partial hypothesis
      a model that reads only the hypothesis

All other settings: {{program}} --help all"""

EVALUATE = f"""\
usage: {{program}} [settings]

Measure a model on all examples and in full precision.

  --checkpoint RUN           a run or a checkpoint: its model and its data
  --model NAME               or a model that was not trained by Heedful (minilm)
  --endpoint NAME            or a model of the server OPENAI_BASE_URL
  --data NAME                other data than the run's (planted)
  --data.path PATH           its files, if they are not from the hub
  --partial PART             show the model only one part
  --data.max_validation N    largest number of examples
  --data.eval_batch_size N   inputs per batch (64)
  --prompt.tuples N          demonstrations in the prompt (0)
  --attentiveness.precision W  sufficient half width of an interval, as 0.02
  --attributions.methods M   explanation methods (shap)
  --natural_logic.path DIR   folder of NLI-XY, to measure causal effects
  --dry_run                  count requests to a server, and send none
{COMMON}
examples:
  {{program}} --checkpoint runs/mnli/minilm/plain/version_0
      the model of a run
  {{program}} --data rte --checkpoint RUN
      on other data
  {{program}} --data mnli --model FacebookAI/roberta-large-mnli
      a model of the hub

All other settings: {{program}} --help all"""

HELP = {"train": TRAIN, "evaluate": EVALUATE}
