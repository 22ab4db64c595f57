"""Measure a trained classifier on everything that Heedful knows, on all examples and in full precision.

python evaluate.py --checkpoint runs/planted/minilm/plain/version_0              a run, or one of its checkpoints
python evaluate.py --data rte --checkpoint runs/mnli/...                         three classes answer data of two
python evaluate.py --checkpoint RUN --evaluations natural_logic --natural_logic.path DIR
python evaluate.py --data mnli --model FacebookAI/roberta-large-mnli             never trained here
"""

from heedful.cli.command import run

if __name__ == "__main__":
    run("evaluate")
