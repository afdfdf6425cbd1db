"""``kafka-dump-log --check``: prints only damage, for files, partitions and whole log directories.

``storage/check.py`` contains the checks. Gaps between offsets and purely informative findings are left out.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from kafka_tools.commands import running
from kafka_tools.dump.files import ALL_BYTES
from kafka_tools.errors import InputError, UsageError
from kafka_tools.shown_text import one_line
from kafka_tools.storage.check import check_file, check_log_dir, check_partition
from kafka_tools.storage.layout import partition_files
from kafka_tools.storage.names import parse_partition_dir
from kafka_tools.storage.opening import is_directory

if TYPE_CHECKING:
    from kafka_tools.commands.logs.output import Output
    from kafka_tools.dump.request import DumpRequest
    from kafka_tools.dump.run import DumpRun
    from kafka_tools.storage.findings import Finding


_NOT_CHECKED = (
    "offsets", "times", "key", "from_position", "follow", "summary", "verify_index_only", "index_sanity_check",
)  # fmt: skip
"""Options that select a part of the files, or another output."""


def check(request: DumpRequest, output: Output, *, jobs: int, show_position: bool) -> int:
    """Run --check instead of a dump. Returns the exit status. Raises UsageError for options that exclude it."""
    asked = any(getattr(request, name) for name in _NOT_CHECKED) or request.max_bytes != ALL_BYTES
    if jobs > 1 or show_position or asked:
        raise UsageError(
            "--check reads whole files, one after the other: use it only with options that name files, "
            "--deep-iteration and -o."
        )
    run = request.run()
    try:
        paths = request.named()
    except InputError as error:
        output.fail(None, str(error))
        output.close()
        raise
    return print_damage(paths, run, output, form=request.form, records=request.deep)


def print_damage(paths: Sequence[str], run: DumpRun, output: Output, *, form: str | None, records: bool) -> int:
    """Print a line on stdout for each damage. Returns the exit status. ``records``: also decompress and parse every
    record.

    A path that cannot be read does not affect the others.
    """
    ending = run.make_ending(output)
    damaged = False
    for path in paths:
        try:
            findings = _findings(path, records)
        except (InputError, OSError) as error:
            damaged = True
            reason = str(error) if isinstance(error, InputError) else f"{path}: {error.strerror or error}"
            output.fail(path, reason)
            output.flush()
            running.complain("kafka-dump-log", reason, getattr(error, "hint", None))
            continue
        for finding in findings:
            if finding.kind == "newer-records":  # counted, but no damage
                running.note(one_line(str(finding)))
                continue
            # A named file must be one of Kafka's. A directory may contain any other files.
            if finding.is_damage or finding.path == path:
                damaged = True
                line = f"{one_line(str(finding))}\n" if form is None else ending.finding_line(finding)
                if line:
                    ending.line(line)
                    output.flush()
    output.close()
    return running.FAILED if damaged else 0


def _findings(path: str, records: bool) -> Iterator[Finding]:
    if not os.path.isdir(path):
        return check_file(path, records=records)
    if parse_partition_dir(os.path.basename(os.path.abspath(path))) is not None or partition_files(path).segments:
        return check_partition(path, records=records)
    with os.scandir(path) as entries:
        if not any(is_directory(entry) and parse_partition_dir(entry.name) is not None for entry in entries):
            raise InputError(
                f"no log files in directory {path}",
                hint="give a partition's directory (orders-0), the log directory above it, or files",
            )
    return check_log_dir(path, records=records)
