"""What the report shows of transitions and evidence: what is forbidden, of several splits the averages of each, and the
paper's shares.

Single transitions, and the labels of each of several splits, stay in results.json.
"""

from metrics.tables.transitions import COMPOSED, TRANSITIONS

EVIDENCE = "evidence"
SHOWN = ("precision", "recall", "all", "partial", "none", "ignored", "correct")


def row_label(name: str, several: bool = False) -> str | None:
    """How a metric of transitions or of evidence is called in the report.

    Args:
        name: Name of a metric.
        several: Whether runs stand side by side, with the averages over labels only.

    Returns:
        "" for one that is left out; None for metrics of other kinds.

    Example:
        >>> row_label("transitions/infotabs/delete/invalid"), row_label("accuracy/infotabs")
        ('invalid: delete', None)
    """
    kind, *rest = name.split("/")
    if kind == EVIDENCE:
        what = rest[1:]
        shown = what[0] in SHOWN and "ignored" not in what[1:]
        return f"evidence: {', '.join(what)}" if shown and not (several and len(what) > 1) else ""
    if kind != TRANSITIONS:
        return None
    _, operation, metric, *label = rest
    if metric.startswith("from_") or len(label) > 1 or (several and label):
        return ""
    if label:
        return f"  {label[0] if '=' in label[0] else label[0].replace('_', ' ')}"
    return f"invalid: {operation.replace('_', ', ')}{' (composed)' if metric == COMPOSED else ''}"
