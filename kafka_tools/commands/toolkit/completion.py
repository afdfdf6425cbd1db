"""``kafka-tools completion``: the completion script of a shell, on stdout.

The scripts only carry the line to ``kafka-tools`` and its answer back (see ``completer``), so they hold no command
or option that could go stale. The files in ``completions/`` are this command's output.
"""

from __future__ import annotations

import click

from kafka_tools.commands.options.command import Command

SHELLS = ("bash", "zsh", "fish")


@click.command(name="completion", cls=Command)
@click.argument("shell", type=click.Choice(SHELLS))
def command(shell: str) -> None:
    """Print the completion script for bash, zsh or fish.

    \b
    bash: kafka-tools completion bash > ~/.local/share/bash-completion/completions/kafka-tools
          and source that file from ~/.bashrc, so that the kafka-* names complete as well
    zsh:  kafka-tools completion zsh > a folder of $fpath/_kafka-tools
    fish: kafka-tools completion fish > ~/.config/fish/conf.d/kafka-tools.fish
    """
    print(script(shell), end="")


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
