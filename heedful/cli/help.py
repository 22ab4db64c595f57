"""The help of ``heedful train`` and ``heedful evaluate``: one screen of text, written by hand."""

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
  --data.path PATH           its files, where they are not from the hub
  --model NAME               minilm, ..., a hub id, or a folder (minilm)
  --augment NAME             counterfactual, or another experiment
  --partial PART             train on one part alone
  --init_from RUN            begin with the model of a finished run
  --resume RUN               continue a run that was stopped
  --debug NAME               try a run: fast, overfit or profile
  --trainer.max_epochs N     epochs (2)
  --model.learning_rate X    the highest learning rate (0.0001)
  --model.max_length N       most tokens of an input (256)
  --data.batch_size N        examples of a step, on each device (32)
  --data.max_train N         largest number of training examples
{COMMON}
examples:
  {{program}}
      MiniLM on the embedded data, in minutes
  {{program}} --data mnli --augment counterfactual
      MNLI from the hub, with counterfactual examples
  {{program}} --data mnli --data.path DIR --partial hypothesis
      a model of the hypothesis alone

All other settings: {{program}} --help all"""

EVALUATE = f"""\
usage: {{program}} [settings]

Measure a model on all examples and in full precision, with every evaluation.

  --checkpoint RUN           a run or a checkpoint: its model and its data
  --model NAME               or a model that was never trained here (minilm)
  --endpoint NAME            or a model of the server OPENAI_BASE_URL
  --data NAME                other data than the run's (planted)
  --data.path PATH           its files, where they are not from the hub
  --partial PART             show the model one part alone
  --data.max_validation N    largest number of examples
  --data.eval_batch_size N   inputs of a batch (64)
  --prompt.tuples N          demonstrations in the prompt (0)
  --attentiveness.precision W  half width of an interval that is enough, as 0.02
  --attributions.methods M   what explains a prediction (shap)
  --natural_logic.path DIR   NLI-XY: causal effects are measured
  --dry_run                  count requests to a server, and send none
{COMMON}
examples:
  {{program}} --checkpoint runs/mnli/minilm/plain/version_0
      a run that train made
  {{program}} --data rte --checkpoint RUN
      on other data
  {{program}} --data mnli --model FacebookAI/roberta-large-mnli
      a model of the hub

All other settings: {{program}} --help all"""

HELP = {"train": TRAIN, "evaluate": EVALUATE}
