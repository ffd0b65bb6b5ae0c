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

/** Input and output of a command; tests pass their own. */
export interface CommandIo {
  /** Data, for other programs. */
  stdout: NodeJS.WritableStream;
  /** Everything for people: progress, notices, errors. */
  stderr: NodeJS.WritableStream & { isTTY?: boolean };
  stdin: NodeJS.ReadableStream & { isTTY?: boolean };
  env: Readonly<Record<string, string | undefined>>;
  /** Aborted by the first Ctrl-C or SIGTERM. */
  signal: AbortSignal;
  /**
   * Aborted by the second one, which otherwise ends the process; after reading this property, the third one does.
   * Undefined if not supported.
   */
  hurry?: () => AbortSignal;
}

/** Wrong usage of a command. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
