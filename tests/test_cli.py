"""The command line: short forms, messages, and every file in configs/."""

import json
import sys

import pytest
import torch
import yaml
from pytorch_lightning import Trainer, seed_everything
from pytorch_lightning.utilities import rank_zero_info

from heedful.assembly.evaluation import output_folder
from heedful.assembly.folders import run_folder
from heedful.assembly.quiet import quietly
from heedful.assembly.record import write_record
from heedful.assembly.training import trained
from heedful.cli import messages as mistakes
from heedful.cli.app import naming_flags
from heedful.cli.messages import guarded
from heedful.cli.model_forms import with_run
from heedful.cli.runs import continued
from heedful.cli.short_forms import description, expand
from heedful.datamodules import PairedData
from heedful.lightning_modules import Classifier
from heedful.records import HeedfulError
from heedful.records.storage.named_configs import FOLDER_OF, names
from heedful.rooms import folder

from commands import job_of
from refusals import refused, told
from tiers import first_tier


def tails(argv):
    return [a.rsplit("/", 1)[-1] for a in expand(argv)]


def test_defaults_are_minilm_on_the_embedded_data():
    assert tails([]) == ["--data", "planted.yaml", "--model", "minilm.yaml"]


def test_files_come_before_single_settings_whatever_the_order():
    argv = ["--data.path", "d", "--model.backbone=x", "--augment", "counterfactual", "--model=bert", "--data=mnli"]
    assert tails(argv) == (
        ["--data", "mnli.yaml", "--model", "bert.yaml", "--config", "counterfactual.yaml"]
        + ["--data.path", "d", "--model.backbone=x"]
    )


def test_a_config_brings_its_own_data_and_model_and_short_forms_win(tmp_path):
    config = tmp_path / "run.yaml"
    config.write_text("data: {class_path: heedful.datamodules.Planted}\nmodel: minilm.yaml\n")
    assert tails(["--config", str(config)]) == ["--config", "run.yaml"]
    argv = ["--config", "run.yaml", "--data", "mnli.yaml", "--config", "counterfactual.yaml"]
    assert tails([f"--config={config}", "--data", "mnli", "--augment", "counterfactual"]) == argv
    config.write_text("trainer: {max_epochs: 1}\ndata: {init_args: {batch_size: 8}}\n")
    defaults = ["--data", "planted.yaml", "--model", "minilm.yaml"]
    assert tails(["-c", str(config)]) == [*defaults, "--config", "run.yaml"]
    config.write_text("[")
    with refused("bad-yaml", "run.yaml"):
        expand(["--config", str(config)])
    for flag in ("--config", "--data", "--model"):
        with refused("missing-file", f"{flag} no.yaml"):
            expand([flag, "no.yaml"])


@pytest.mark.slow
def test_a_saved_config_with_short_forms_on_top(monkeypatch, tmp_path):
    made = job_of(monkeypatch, ["--data.n_train", "7"])
    write_record(made.repeated, tmp_path / "config.yaml")
    again = job_of(monkeypatch, ["--config", str(tmp_path / "config.yaml"), "--augment", "counterfactual"])
    assert again.data.sizes["train"] == 7
    assert again.data.augment == "counterfactual"
    other = job_of(monkeypatch, ["--config", str(tmp_path / "config.yaml"), "--data", "mnli", "--model", "bert"])
    assert (other.data.name, other.model_name) == ("mnli", "bert")


@pytest.mark.slow
@pytest.mark.parametrize("room", ["", "heedful.datamodules.", "datamodules."])  # in short, in full, as once written
def test_a_class_is_named_in_short_in_full_or_as_earlier_versions_did(monkeypatch, tmp_path, room):
    (tmp_path / "mine.yaml").write_text(f"class_path: {room}Planted\ninit_args: {{n_train: 7, n_validation: 5}}\n")
    for argv in (["--data", str(tmp_path / "mine.yaml")], ["--data", f"{room}Planted", "--data.n_train", "7"]):
        made = job_of(monkeypatch, argv)
        assert made.record["data"]["class_path"] == "heedful.datamodules.Planted"
        assert made.data.sizes["train"] == 7
    (tmp_path / "whole.yaml").write_text(f"data: {{class_path: {room}Planted, init_args: {{n_train: 7}}}}\n")
    assert job_of(monkeypatch, ["--config", str(tmp_path / "whole.yaml")]).data.sizes["train"] == 7


@pytest.mark.parametrize(
    ("flag", "name", "near"),
    [
        ("--data", "MNLI", "mnli?"),
        ("--data", "Encoder", "--help"),
        ("--model", "Bert", "bert?"),
        ("--augment", "Planted", "--help"),
    ],
)
def test_another_name_that_looks_like_a_class_is_unknown(flag, name, near):
    with refused("unknown-name", f"{flag} {name} ", near):
        expand([flag, name])


def test_a_name_may_be_of_a_file_in_the_working_folder(monkeypatch, tmp_path):
    (tmp_path / "configs" / "data").mkdir(parents=True)
    (tmp_path / "configs" / "data" / "mine.yaml").write_text("class_path: Planted\ninit_args: {n_train: 7}\n")
    monkeypatch.chdir(tmp_path)
    assert job_of(monkeypatch, ["--data", "mine"]).data.sizes["train"] == 7
    assert "mine" in names("data")
    with refused("unknown-name", "--data mines", " mine?"):
        job_of(monkeypatch, ["--data", "mines"])


def test_a_config_may_change_settings_of_what_a_short_form_names(monkeypatch, tmp_path):
    (tmp_path / "small.yaml").write_text("data: {init_args: {batch_size: 8}}\n")
    argv = ["--config", str(tmp_path / "small.yaml"), "--data", "mnli", "--augment", "counterfactual"]
    made = job_of(monkeypatch, argv)
    assert (made.data.name, made.data.batch_size, made.data.default_label) == ("mnli", 8, "neutral")
    assert made.data.augment == "counterfactual"


def test_a_data_file_is_no_data_set():
    with refused("unknown-name", "--data x/train.tsv", "--data mnli --data.path x/train.tsv"):
        expand(["--data", "x/train.tsv"])


def test_a_used_folder_is_not_written_over(monkeypatch, tmp_path):
    made = job_of(monkeypatch, ["--output", str(tmp_path)])
    assert run_folder(made) == tmp_path
    (tmp_path / "config.yaml").touch()
    with refused("folder-taken", f"--output {tmp_path}", f"--resume {tmp_path}"), naming_flags():
        run_folder(made)
    with refused("changed-run-file", "config.yaml"):
        trained(job_of(monkeypatch, ["--ckpt_path", str(tmp_path / "checkpoints" / "last.ckpt")]))
    write_record(made.repeated, tmp_path / "config.yaml")
    made = job_of(monkeypatch, ["--ckpt_path", str(tmp_path / "checkpoints" / "last.ckpt")])
    assert run_folder(made) == tmp_path


@pytest.mark.slow
def test_a_run_goes_on_as_it_began_and_not_at_all_when_it_is_finished(monkeypatch, tmp_path):
    write_record(job_of(monkeypatch, []).repeated, tmp_path / "config.yaml")
    checkpoint = ["--ckpt_path", str(tmp_path / "checkpoints" / "last.ckpt")]
    with refused("resumed-setting", "--model.learning_rate 0.5", tmp_path, "0.0001"), naming_flags():
        trained(job_of(monkeypatch, [*checkpoint, "--model.learning_rate", "0.5"]))
    (tmp_path / "run.json").write_text('{"finished": "2026-01-01T00:00:00+00:00"}')
    with refused("finished-run", "--data.batch_size 8", "32", f"--init_from {tmp_path}"), naming_flags():
        trained(job_of(monkeypatch, ["--resume", str(tmp_path), "--data.batch_size", "8"]))


@pytest.mark.slow
def test_a_checkpoint_may_be_named_from_within_its_folder(monkeypatch, tmp_path):
    checkpoints = tmp_path / "run" / "checkpoints"
    checkpoints.mkdir(parents=True)
    for name in ("last.ckpt", "best.ckpt"):
        outline = {"state_dict": {}, "task": {}, "pytorch-lightning_version": "2.6.6", "optimizer_states": []}
        torch.save(outline | {"epoch": 0, "global_step": 3}, checkpoints / name)
    write_record(job_of(monkeypatch, []).repeated, tmp_path / "run" / "config.yaml")
    monkeypatch.chdir(checkpoints)
    for name in ("last.ckpt", "best.ckpt"):
        assert continued(["--resume", name])[2:] == ["--resume", str(tmp_path / "run"), "--ckpt_path", name]
        made = job_of(monkeypatch, ["--ckpt_path", name])
        assert run_folder(made) == tmp_path / "run"
    (tmp_path / "run" / "run.json").write_text('{"finished": "2026-01-01T00:00:00+00:00"}')
    for name in ("last.ckpt", "best.ckpt"):
        made = job_of(monkeypatch, with_run(["--checkpoint", name]), evaluating=True)
        tail = "planted-validation" if name == "best.ckpt" else "planted-validation-last"
        assert output_folder(made) == tmp_path / "run" / "evaluations" / tail


@pytest.mark.slow
def test_a_file_wins_over_what_was_measured_in_training_and_a_flag_over_both(monkeypatch, tmp_path):
    made = job_of(monkeypatch, ["--natural_logic.seeds", "7", "--natural_logic.split", "dev"])
    (tmp_path / "checkpoints").mkdir()
    outline = {"state_dict": {}, "task": {}, "pytorch-lightning_version": "2.6.6", "epoch": 0, "global_step": 3}
    torch.save(outline, tmp_path / "checkpoints" / "best.ckpt")
    write_record(made.repeated, tmp_path / "config.yaml")
    (tmp_path / "file.yaml").write_text("natural_logic: {seeds: 50}\n")
    (tmp_path / "whole.yaml").write_text("natural_logic: {seeds: 10, split: test, path: null}\n")
    run, flag = ["--checkpoint", str(tmp_path / "checkpoints" / "best.ckpt")], ["--natural_logic.seeds", "3"]
    for argv, seeds, split in (
        ([], 7, "dev"),
        (["--config", str(tmp_path / "file.yaml")], 50, "dev"),
        (["--config", str(tmp_path / "whole.yaml")], 10, "test"),
        (["--config", str(tmp_path / "file.yaml"), *flag], 3, "dev"),
    ):
        found = job_of(monkeypatch, with_run([*run, *argv]), evaluating=True)
        natural_logic = next(e for e in found.evaluations if e.name == "natural_logic")
        assert (natural_logic.seeds, natural_logic.split) == (seeds, split)


def test_partial_is_a_setting_of_the_data():
    assert tails(["--partial", "hypothesis"])[-2:] == ["--data.partial", "hypothesis"]


def test_slices_are_a_setting_of_the_data(monkeypatch):
    for argv in (["--slices", "heuristic,genre"], ["--slices=[heuristic, genre]"]):
        assert tails(argv)[-2:] == ["--data.slices", '["heuristic", "genre"]']
    made = job_of(monkeypatch, ["--data", "hans", "--slices", "heuristic"])
    assert made.data.slices == ("heuristic",)
    assert made.data.columns.meta == ("heuristic", "subcase", "template")


@pytest.mark.parametrize("kind", ["data", "model", "augment"])
def test_all_names_stand_in_the_help(kind):
    assert ", ".join(names(kind)) in description(evaluating=False)
    with refused("unknown-name", f"--{kind} nonsense ", "--help"):
        expand([f"--{kind}", "nonsense"])


def test_a_short_form_needs_a_name():
    with refused("missing-setting", "--data "):
        expand(["--data", "--model", "bert"])


NAMES = {"hans-three": "hans", "paws-as-qqp": "paws", "msgs": "msgs-main_verb_lexical_content_the"}  # of the data


@pytest.mark.parametrize("name", first_tier(6, names("data")))
def test_every_data_config_is_instantiated(monkeypatch, tmp_path, name):
    (tmp_path / "answers.txt").write_text("yes\nno\n")
    made = job_of(monkeypatch, ["--data", name, *(["--data.path", str(tmp_path)] if name == "easy_vqa" else [])])
    data = made.data
    assert isinstance(data, PairedData)
    assert data.name == NAMES.get(name, name)
    assert len(data.sides) == {"msgs": 1, "rag": 3}.get(name, 2)
    assert data.task.default_label in (data.task.labels or [""]) or name in ("easy_vqa", "vqa2", "msgs")
    swapped = list(data.sides) if data.task.pictures else [data.task.parts[0]]
    assert data.swap == ([] if name == "msgs" else swapped)


@pytest.mark.parametrize("name", first_tier(6, names("model")))
def test_every_model_config_is_instantiated(monkeypatch, name):
    made = job_of(monkeypatch, ["--model", name])
    assert isinstance(made.model, Classifier)
    assert made.model_name == name


@pytest.mark.slow
@pytest.mark.parametrize("name", names("augment"))
def test_every_experiment_config_is_instantiated(monkeypatch, name):
    assert job_of(monkeypatch, ["--data", "mnli", "--augment", name]).data.augment == name


def test_no_config_is_left_untested():
    folders = {path.parent.name for path in folder("configs").rglob("*.yaml")}
    assert folders == {*FOLDER_OF.values(), "suite"}  # tests/cli/suite has those of suites


def test_a_backbone_given_by_hand_names_the_run(monkeypatch):
    assert job_of(monkeypatch, ["--model.backbone", "Some-Org/Model_X"]).model_name == "some-org-model_x"


def test_one_seed_for_everything(monkeypatch):
    assert job_of(monkeypatch, ["--seed_everything", "7"]).data.seed == 7


def test_settings_reach_the_modules(monkeypatch):
    argv = ["--data", "mnli", "--data.path", "x", "--data.splits.train", "dev", "--attentiveness.draws", "3"]
    argv += ["--data.swap", "[premise, hypothesis]", "--data.augment", "inoculation", "--data.inoculation.n", "200"]
    made = job_of(monkeypatch, argv)
    assert made.data.splits == {"train": "dev", "validation": "validation_matched"}
    assert made.data.swap == ["premise", "hypothesis"]
    assert made.data.inoculation.n == 200
    assert [e.draws for e in made.evaluations if e.name == "attentiveness"] == [3]


@pytest.mark.parametrize(
    ("argv", "class_path", "settings"),
    [
        (
            ["--data.help", "mnli"],
            "heedful.datamodules.PairedText",
            ["--data.path", "--data.splits", "--data.max_train"],
        ),
        (["--data.help=infotabs"], "heedful.datamodules.PairedTables", ["--data.keep_rows"]),
        (["--data", "squad2", "--data.help"], "heedful.datamodules.Reading", ["--data.hold_out"]),
        (["--data.help", "heedful.datamodules.Planted"], "heedful.datamodules.Planted", ["--data.n_train"]),
        (["--model.help", "bert"], "heedful.lightning_modules.Encoder", ["--model.learning_rate"]),
        (["--data", "nlvr", "--model.help"], "heedful.lightning_modules.LateFusion", ["--model.freeze_vision"]),
    ],
)
def test_help_explains_the_settings_of_a_short_name(monkeypatch, capsys, argv, class_path, settings):
    with pytest.raises(SystemExit) as stopped:
        job_of(monkeypatch, argv)
    printed = capsys.readouterr().out
    assert stopped.value.code == 0
    assert f".help={class_path}" in printed
    assert all(setting in printed for setting in settings)


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--data.shortcut", "2"], "--data.shortcut 2.0"),
        (["--partial", "nonsense"], "--data.partial nonsense"),
        (["--partial", "premise", "--augment", "counterfactual"], "counterfactual"),
        (["--data.batch_size", "0"], "--data.batch_size 0"),
        (["--data.num_workers", "-1"], "--data.num_workers -1"),
        (["--data.dict_kwargs.x", "3"], "'x'"),  # as Python says it
    ],
)
def test_a_mistake_is_one_sentence(monkeypatch, capsys, argv, message):
    assert message in last_line(monkeypatch, capsys, argv)


@pytest.mark.parametrize(
    ("argv", "expected"),
    first_tier(
        3,
        [
            (["--data.nope", "3"], ("unknown-setting", "--data.nope.", "--data.note?")),
            (["--nope", "3"], ("unknown-setting", "--nope.", "--help")),
            (["--trainer.max_epochs", "x"], ("bad-setting", "--trainer.max_epochs x")),
            (["--data.augment", "x"], ("bad-setting", "--data.augment x", "counterfactual, inoculation")),
            (["--data.help", "nope"], ("unknown-name", "--data nope", "--help")),
            (["--data.inoculation.n", "x"], ("bad-setting", "--data.inoculation.n x")),
            (["--trainer.callbacks", "os.system"], ("foreign-class", "--trainer.callbacks os.system")),
            (
                ["--model", "heedful.datamodules.Planted"],
                ("foreign-class", "--model ", "datamodules.Planted", "Classifier"),
            ),
            (["--data", "heedful.lightning_modules.Encoder"], ("foreign-class", "--data ", "Encoder", "PairedData")),
            (["--seed_everything", "-1"], ("bad-setting", "--seed_everything -1", "4294967295")),
            (["--seed_everything", "99999999999"], ("bad-setting", "--seed_everything 99999999999", "4294967295")),
            (["--trainer.logger", "CometLogger"], ("missing-package", "--trainer", "comet")),
        ],
    ),
)
def test_a_mistake_ends_with_its_code(monkeypatch, capsys, argv, expected):
    told(last_line(monkeypatch, capsys, argv), *expected)


def last_line(monkeypatch, capsys, argv):
    """The end of what a command says of a mistake."""
    with pytest.raises(SystemExit) as stopped:
        mistakes.guarded(lambda: job_of(monkeypatch, argv))
    assert stopped.value.code == 2
    printed = capsys.readouterr().err.strip().splitlines()[-1]
    assert printed.startswith("train.py: ")
    assert "Union" not in printed
    assert "Traceback" not in printed
    return printed


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["fsdp", "fsdp_cpu_offload"])
def test_shards_are_refused_before_anything_is_read(monkeypatch, strategy):
    made = job_of(monkeypatch, ["--trainer.strategy", strategy, "--data.path", "nowhere", "--data", "mnli"])
    with refused("unfit-trainer", "--trainer.strategy ddp"), naming_flags():
        made.prepare()


@pytest.mark.parametrize(
    "strategy",
    first_tier(
        2,
        ["ddp_spawn", "ddp_fork", "ddp_notebook", "ddp_spawn_find_unused_parameters_true"]
        + [
            json.dumps({"class_path": "DDPStrategy", "init_args": {"start_method": start}})
            for start in ("spawn", "fork")
        ],
    ),
)
def test_copies_of_a_process_are_refused_before_anything_is_read(monkeypatch, strategy):
    made = job_of(monkeypatch, ["--trainer.strategy", strategy, "--data.path", "nowhere", "--data", "mnli"])
    with refused("unfit-trainer", "--trainer.strategy ddp"), naming_flags():
        made.prepare()


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["ddp", "ddp_find_unused_parameters_true"])
def test_processes_of_their_own_are_not_refused(monkeypatch, strategy):
    made = job_of(monkeypatch, ["--trainer.strategy", strategy, "--data.path", "nowhere", "--data", "mnli"])
    with refused("missing-file", "nowhere"), naming_flags():
        made.prepare()


def test_checkpoints_stay_where_resuming_finds_them(monkeypatch):
    made = job_of(monkeypatch, ["--checkpoint.dirpath", "elsewhere"])
    with refused("clashing-settings", "--checkpoint.dirpath elsewhere", "--output"), naming_flags():
        made.prepare()


def test_an_error_that_is_not_the_users_keeps_its_traceback():
    with pytest.raises(ZeroDivisionError):
        mistakes.guarded(lambda: 1 / 0)


def test_a_checkpoint_brings_the_model_and_the_data_of_its_run(tmp_path):
    (tmp_path / "checkpoints").mkdir()
    torch.save({}, tmp_path / "checkpoints" / "best.ckpt")
    saved = {
        "model": {
            "class_path": "heedful.lightning_modules.Encoder",
            "init_args": {"backbone": "x", "max_length": 9, "labels": ["a"]},
        },
        "data": {
            "class_path": "heedful.datamodules.Planted",
            "init_args": {"shortcut": 0.5, "max_validation": 5, "seed": 3},
        },
    }
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(saved))
    argv = with_run(["--checkpoint", str(tmp_path / "checkpoints" / "best.ckpt")])
    model, data = yaml.safe_load(argv[1]), yaml.safe_load(argv[3])
    backbone = str(tmp_path / "checkpoints" / "backbone")
    assert model["init_args"] == {"backbone": backbone, "labels": None, "max_length": 9}
    assert data["init_args"] == {"shortcut": 0.5, "max_validation": None}
    other = with_run([f"--checkpoint={tmp_path / 'checkpoints' / 'best.ckpt'}", "--data", "mnli"])
    assert other[2:] == ["--data", "mnli", "--checkpoint", str(tmp_path / "checkpoints" / "best.ckpt")]


def test_a_file_of_settings_beside_a_checkpoint_may_name_the_data_and_no_model(tmp_path):
    (tmp_path / "checkpoints").mkdir()
    torch.save({}, tmp_path / "checkpoints" / "best.ckpt")
    named = {"class_path": "heedful.lightning_modules.Encoder", "init_args": {"backbone": "x"}}
    data = {"class_path": "heedful.datamodules.Planted", "init_args": {}}
    (tmp_path / "config.yaml").write_text(yaml.safe_dump({"model": named, "data": data}))
    (tmp_path / "own.yaml").write_text(yaml.safe_dump({"data": data}))
    argv = ["--checkpoint", str(tmp_path / "checkpoints" / "best.ckpt"), "--config"]
    assert "--data" not in with_run([*argv, str(tmp_path / "own.yaml")])
    with refused("clashing-settings", "--checkpoint", "--config", "config.yaml"):
        with_run([*argv, str(tmp_path / "config.yaml")])


@pytest.mark.parametrize("config", ["[", "text", "model: 3", "\x00", "model: {init_args: {}}\ndata: 1"])
def test_a_damaged_config_beside_a_checkpoint_is_named(tmp_path, config):
    (tmp_path / "checkpoints").mkdir()
    torch.save({}, tmp_path / "checkpoints" / "best.ckpt")
    (tmp_path / "config.yaml").write_text(config)
    with refused("changed-run-file", "config.yaml"):
        with_run(["--checkpoint", str(tmp_path / "checkpoints" / "best.ckpt")])


@pytest.mark.parametrize(
    ("argv", "code", "facts"),
    first_tier(
        3,
        [
            (["--checkpoint.mode", "maxx"], "bad-setting", ["--checkpoint.mode maxx", "max or min"]),
            *(
                (["--checkpoint.filename", name], "bad-name", [f"--checkpoint.filename {name} "])
                for name in ("last", "previous", "interrupted", "damaged")
            ),
            *(
                (["--checkpoint.filename", name], "bad-name", [f"--checkpoint.filename '{name}'"])
                for name in ("../x", "a/b", ".x")
            ),
            (
                ["--checkpoint.filename", "b-{accuracy/planted:.2f}"],
                "bad-name",
                ["b-{accuracy/planted:.2f}", "--checkpoint.auto_insert_metric_name false"],
            ),
            (["--attentiveness.draws", "0"], "bad-setting", ["--attentiveness.draws 0", "from 1 to 32,767"]),
        ],
    ),
)
def test_a_setting_of_a_callback_that_makes_no_sense(monkeypatch, capsys, argv, code, facts):
    with pytest.raises(SystemExit) as stopped:
        mistakes.guarded(lambda: job_of(monkeypatch, argv))
    assert stopped.value.code == 2
    told(capsys.readouterr().err, code, *facts)


def test_a_checkpoint_outside_a_run_is_refused(tmp_path):
    with refused("missing-file", "--checkpoint"), naming_flags():
        with_run(["--checkpoint", str(tmp_path / "no.ckpt")])
    torch.save({}, tmp_path / "no.ckpt")
    with refused("not-a-run", "--checkpoint", "no.ckpt", "config.yaml"), naming_flags():
        with_run(["--checkpoint", str(tmp_path / "no.ckpt")])
    (tmp_path / "cut.ckpt").touch()
    with refused("damaged-file", f"--checkpoint {tmp_path / 'cut.ckpt'}", tmp_path / "no.ckpt"), naming_flags():
        with_run(["--checkpoint", str(tmp_path / "cut.ckpt")])


def test_lines_for_the_user_do_not_command_the_terminal(caplog):
    with quietly(), caplog.at_level("INFO"):
        rank_zero_info("a table called \x1b[2J\n100 % of them %s")
    assert caplog.messages == ["a table called \\x1b[2J\n100 % of them %s"]


def test_tips_of_lightning_are_not_shown(caplog):
    with quietly(), caplog.at_level("INFO"):
        seed_everything(0)
        Trainer(accelerator="cpu", enable_checkpointing=False)
    assert caplog.messages == []


def test_settings_are_flags_on_the_command_line(monkeypatch, capsys, caplog):
    """What is raised late, in training say, and under an exception of Lightning, and what is logged."""
    monkeypatch.setattr(sys, "argv", ["train.py"])

    def main():
        rank_zero_info("not measured (§natural_logic.split)")
        try:
            raise HeedfulError("not-finite", "The loss is nan.", "Try a lower §model.learning_rate, or §partial.")
        except HeedfulError as error:
            raise RuntimeError("Lightning gives up.") from error

    with caplog.at_level("INFO"), pytest.raises(SystemExit):
        guarded(main)
    told(capsys.readouterr().err, "not-finite", "--model.learning_rate", "--partial")
    assert caplog.messages == ["not measured (--natural_logic.split)"]
