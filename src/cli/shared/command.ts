/** One command of `parley`. */
export interface Command {
  /** The whole help text. */
  readonly help: string;
  /**
   * Runs with the arguments after the command's name. Resolves with the exit code: 0 done, 1 failed, 2 wrong usage,
   * 130 interrupted. Throws UsageError for wrong usage and ParleyError for what went wrong.
   */
  run(args: readonly string[], io: CommandIo): Promise<number>;
}

/** What a command reads and writes; tests give their own. */
export interface CommandIo {
  /** Data: what another program may read. */
  stdout: NodeJS.WritableStream;
  /** Everything for people: progress, notices, errors. */
  stderr: NodeJS.WritableStream & { isTTY?: boolean };
  stdin: NodeJS.ReadableStream & { isTTY?: boolean };
  env: Readonly<Record<string, string | undefined>>;
  /** Aborted by the first Ctrl-C or SIGTERM. */
  signal: AbortSignal;
  /**
   * Aborted by the second one, which otherwise ends the process; asking for it makes the third one do that. Undefined
   * where there is no such thing.
   */
  hurry?: () => AbortSignal;
}

/** The command was called wrongly. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
