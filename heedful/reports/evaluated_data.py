"""The examples that a run was evaluated on, read again as its configuration says."""

from importlib import import_module
from pathlib import Path

import pyarrow as pa

from heedful.datamodules import PairedData
from heedful.records import DataError, RunError, SettingError
from heedful.records.parser import construct
from heedful.records.rows import contents, difference
from heedful.records.storage.results import CONFIG
from heedful.records.storage.schema import ROOMS
from heedful.reports.configs import settings

ROOM = f"{ROOMS['data']}."  # of the classes that a configuration may name here


def data_of(folder: str | Path, seed: int) -> PairedData:
    """The data module of a run or of an evaluation, set up.

    Args:
        folder: Its folder, which holds config.yaml. Paths in it are relative to where the command runs.
        seed: The run's seed, which decides about samples.

    Raises:
        HeedfulError: The folder has no configuration, it names a class of something else than data, or the data are not
            there.
    """
    init_args = settings(Path(folder)).get("data")
    path = Path(folder) / CONFIG
    if not init_args:
        raise RunError(
            f"{path} does not exist, which says where the examples come from. Copy the whole folder of the run."
        )
    class_path = str(init_args.pop("class_path"))
    if not class_path.startswith(ROOM):
        raise SettingError(
            f"{path} names a class that is not one of Heedful's data modules: {class_path}. Take a run on one of these."
        )
    owner = getattr(import_module(class_path.rpartition(".")[0]), class_path.rpartition(".")[2], None)
    if not (isinstance(owner, type) and issubclass(owner, PairedData)):
        raise RunError(f"{path} names {class_path}, which is not a data module of Heedful.")
    try:
        data: PairedData = construct(owner, "data", init_args | {"seed": seed}, str(path))
    except SettingError as error:
        raise RunError(f"{error} It was edited, or {class_path} is of another version.") from None
    data.setup("validate")
    return data


def require_examples(data: PairedData, rows: pa.Table, folder: str) -> None:
    """Refuse data that are not what the rows are about.

    Raises:
        HeedfulError: An example is missing, or has another content.
    """
    uids = data.pool.uids.to_pylist()
    pool_contents = data.pool.contents(data.full_task.parts).to_pylist()
    content_of = dict(zip(uids, pool_contents, strict=True))
    evaluated = contents(rows)
    if differ := difference(evaluated, {uid: content_of[uid] for uid in evaluated if uid in content_of} or content_of):
        raise DataError(
            f"The examples of {folder} and those that {CONFIG} names are not the same: {differ}. Bring the data back, "
            "or evaluate again."
        )
