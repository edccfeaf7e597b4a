import { Argument, type Command } from "commander";

export function configure(command: Command): void {
  command
    .addArgument(new Argument("<shell>", "shell to print the script for").choices(SHELLS))
    .addHelpText(
      "after",
      `
Examples:
  source <(plumbline completion bash)                                     in ~/.bashrc
  source <(plumbline completion zsh)                                      in ~/.zshrc, after compinit
  plumbline completion fish > ~/.config/fish/completions/plumbline.fish   once
`,
    )
    .action((shell: Shell) => {
      process.stdout.write(SCRIPTS[shell]);
    });
}

const SHELLS = ["bash", "zsh", "fish"] as const;
type Shell = (typeof SHELLS)[number];

/** The shells run `plumbline __complete`, which prints a word, a tab and its description. */
const SCRIPTS: Readonly<Record<Shell, string>> = {
  bash: `# plumbline completion for bash
_plumbline() {
  local IFS=$'\\n' line
  COMPREPLY=()
  while read -r line; do
    COMPREPLY+=("\${line%%$'\\t'*}")
  done < <("\${COMP_WORDS[0]}" __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _plumbline plumbline
`,
  zsh: `#compdef plumbline
_plumbline() {
  local -a candidates
  local candidate about
  while IFS=$'\\t' read -r candidate about; do
    candidates+=("\${candidate//:/\\\\:}\${about:+:$about}")
  done < <("\${words[1]}" __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)
  if (( \${#candidates} )); then
    _describe plumbline candidates
  else
    _files
  fi
}
compdef _plumbline plumbline
`,
  fish: `# plumbline completion for fish
function __plumbline_complete
  set -l tokens (commandline -opc) (commandline -ct)
  $tokens[1] __complete -- $tokens[2..] 2>/dev/null
end
complete -c plumbline -n 'test -n "$(__plumbline_complete)"' -f -a '(__plumbline_complete)'
`,
};
