import { Argument, type Command } from "commander";
import { SCRIPTS, SHELLS, type Shell } from "../completion/scripts.ts";

export function configure(command: Command): void {
  command
    .addArgument(new Argument("<shell>", "whose completion").choices(SHELLS))
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
