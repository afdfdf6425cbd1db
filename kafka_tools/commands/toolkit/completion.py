"""``kafka-tools completion``: the completion script of a shell, on stdout.

The scripts only carry the line to ``kafka-tools`` and its answer back (see ``completer``), so they hold no command
or option that could go stale. The files in ``completions/`` are this command's output.
"""

from __future__ import annotations

import contextlib
import os
import shlex

import click

from kafka_tools.commands.options.command import Command
from kafka_tools.errors import OutputError, UsageError

SHELLS = ("bash", "zsh", "fish")


@click.command(name="completion", cls=Command)
@click.argument("action", metavar="{bash|zsh|fish|install}", type=click.Choice([*SHELLS, "install"]))
@click.argument("shell", required=False, type=click.Choice(SHELLS))
def command(action: str, shell: str | None) -> None:
    """Print the completion script for bash, zsh or fish, or install it for the user.

    "install" writes the script where the shell looks for it. The shell is the one in $SHELL, or the one named after
    "install". The command prints what else is needed, if anything.

    \b
    Examples:
      kafka-tools completion install
      kafka-tools completion bash > kafka-tools.bash
    """
    if action != "install":
        if shell is not None:
            raise UsageError(f"unexpected argument '{shell}': only install takes a shell")
        print(script(action), end="")
        return
    shell = shell or os.path.basename(os.environ.get("SHELL", ""))
    if shell not in SHELLS:
        raise UsageError(f"unknown shell '{shell}' in SHELL: expected one of {', '.join(SHELLS)} after install")
    from kafka_tools.commands.running import emit

    path, more = _installed(shell)
    emit(f"Wrote {path}.\n{more}")


def _installed(shell: str) -> tuple[str, str]:
    """Write the script; returns its path, and what the user still has to do."""
    home = os.path.expanduser("~")
    data = os.environ.get("XDG_DATA_HOME") or os.path.join(home, ".local", "share")
    config = os.environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    if shell == "fish":
        return _written(os.path.join(config, "fish", "conf.d", "kafka-tools.fish"), shell), ""
    if shell == "bash":
        path = _written(os.path.join(data, "kafka-tools", "completion.bash"), shell)
        return path, _sourced(os.path.join(home, ".bashrc"), f"source {shlex.quote(path)}")
    folder = os.path.join(data, "kafka-tools", "zsh")
    path = _written(os.path.join(folder, "_kafka-tools"), shell)
    line = f"fpath+=({shlex.quote(folder)}); autoload -Uz compinit; compinit"
    return path, _sourced(os.path.join(os.environ.get("ZDOTDIR") or home, ".zshrc"), line)


def _written(path: str, shell: str) -> str:
    """Write the script to ``path`` as a whole. Raises OutputError."""
    new = f"{path}.{os.getpid()}"
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(new, "w", encoding="utf-8") as file:
            file.write(script(shell))
        os.replace(new, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.unlink(new)
        raise OutputError(f"cannot write {path}: {error.strerror or error}") from error
    return path


def _sourced(startup_file: str, line: str) -> str:
    """What to tell the user: nothing if the shell's startup file has the line."""
    try:
        with open(startup_file, encoding="utf-8", errors="replace") as file:
            if any(each.strip() == line for each in file):
                return "Start a new shell to use it.\n"
    except OSError:
        pass  # the shell starts without this file
    return f"Add this line to {startup_file}, and start a new shell:\n  {line}\n"


def script(shell: str) -> str:
    """The text of one shell's script."""
    from kafka_tools.commands.registry import SCRIPTS

    names = ["kafka-tools", *(f"kafka-{name}{suffix}" for name in SCRIPTS for suffix in ("", ".sh"))]
    if shell == "bash":
        return _BASH.replace("@NAMES@", " ".join(names))
    if shell == "zsh":
        return _ZSH.replace("@NAMES@", " ".join(names))
    registrations = "".join(
        f"complete --no-files --command {name} --arguments '(_kafka_tools_complete)'\n" for name in names
    )
    return _FISH + registrations


_HEAD = "Completion of kafka-tools and of the kafka-* commands; written by: kafka-tools completion"

_BASH = f"""# {_HEAD} bash
_kafka_tools_complete() {{
    local kind value
    COMPREPLY=()
    while IFS=, read -r kind value; do
        case $kind in
            file) compopt -o default 2>/dev/null ;;
            dir) compopt -o dirnames 2>/dev/null ;;
            plain)
                COMPREPLY+=("$value")
                if [[ $value == *= ]]; then compopt -o nospace 2>/dev/null; fi
                ;;
        esac
    done < <(env COMP_WORDS="${{COMP_LINE:0:COMP_POINT}}" _KAFKA_TOOLS_COMPLETE=bash_complete kafka-tools 2>/dev/null)
}}
complete -F _kafka_tools_complete @NAMES@
"""

_ZSH = f"""#compdef @NAMES@
# {_HEAD} zsh
_kafka_tools_complete() {{
    local -a answer plain described keys
    local kind key help
    local -x COMP_WORDS="${{words[*]}}" COMP_CWORD=$((CURRENT-1)) _KAFKA_TOOLS_COMPLETE=zsh_complete
    answer=("${{(@f)$(kafka-tools 2>/dev/null)}}")
    for kind key help in $answer; do
        case $kind in
            file) _files ;;
            dir) _files -/ ;;
            plain)
                if [[ $key == *= ]]; then keys+=("$key")
                elif [[ $help == _ ]]; then plain+=("$key")
                else described+=("$key:$help"); fi ;;
        esac
    done
    (( $#described )) && _describe -V unsorted described
    (( $#plain )) && compadd -V unsorted -a plain
    (( $#keys )) && compadd -V unsorted -S '' -a keys
}}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    _kafka_tools_complete "$@"
else
    compdef _kafka_tools_complete @NAMES@
fi
"""

_FISH = f"""# {_HEAD} fish
function _kafka_tools_complete
    set -lx COMP_WORDS (commandline -cp)
    set -lx COMP_CWORD (commandline -t)
    for answer in (env _KAFKA_TOOLS_COMPLETE=fish_complete kafka-tools 2>/dev/null)
        set -l parts (string split -m 1 , -- $answer)
        switch $parts[1]
            case file
                __fish_complete_path $parts[2]
            case dir
                __fish_complete_directories $parts[2]
            case plain
                echo $parts[2]
        end
    end
end
"""
