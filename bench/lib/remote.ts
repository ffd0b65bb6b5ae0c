import { type ChildProcess, fork } from 'node:child_process';
import { parentPort, Worker } from 'node:worker_threads';

/** What another process or thread of this benchmark can be asked for: plain data in, plain data out. */
export type Methods = Readonly<Record<string, (argument: never) => Promise<unknown>>>;

interface Channel {
  post: (message: unknown) => void;
  onMessage: (listener: (message: unknown) => void) => void;
}

interface Question {
  id: number;
  method: string;
  argument: unknown;
}
interface Answer {
  id: number;
  value?: unknown;
  error?: string;
}

/** Asks the other side; rejects when it is gone. */
export class Remote<M extends Methods> {
  readonly #channel: Channel;
  readonly #end: () => void;
  readonly #waiting = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>();
  #next = 0;

  constructor(channel: Channel, end: () => void) {
    this.#channel = channel;
    this.#end = end;
    channel.onMessage((message) => {
      const { id, value, error } = message as Answer;
      const waiting = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (error === undefined) waiting?.resolve(value);
      else waiting?.reject(new Error(error));
    });
  }

  ask<K extends keyof M & string>(method: K, argument: Parameters<M[K]>[0]): ReturnType<M[K]> {
    const id = this.#next++;
    this.#channel.post({ id, method, argument } satisfies Question);
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject })) as ReturnType<M[K]>;
  }

  /** Called by whoever notices. */
  gone(reason: string): void {
    for (const { reject } of this.#waiting.values()) reject(new Error(reason));
    this.#waiting.clear();
  }

  /** Ends it. May be called twice. */
  end(): void {
    this.#end();
  }
}

/** This benchmark once more, in a process of its own. @param flags for Node */
export function remoteProcess<M extends Methods>(args: readonly string[], flags: readonly string[] = []): Remote<M> {
  const child: ChildProcess = fork(process.argv[1] ?? '', args, { execArgv: [...flags] });
  const remote = new Remote<M>(
    {
      post: (message) => void (child.connected && child.send(message as object)),
      onMessage: (listener) => void child.on('message', listener),
    },
    () => void (child.connected && child.disconnect()),
  );
  child.once('exit', (code) => remote.gone(`the process of ${args.join(' ')} ended with ${String(code)}`));
  return remote;
}

/** This benchmark once more, in a thread of this process. */
export function remoteThread<M extends Methods>(args: readonly string[]): Remote<M> {
  const worker = new Worker(process.argv[1] ?? '', { argv: [...args], execArgv: [] });
  const remote = new Remote<M>(
    {
      post: (message) => worker.postMessage(message),
      onMessage: (listener) => void worker.on('message', listener),
    },
    () => void worker.terminate(),
  );
  worker.once('error', (error) => remote.gone(error.message));
  return remote;
}

/** Answers what the parent asks, for as long as there is one. */
export function serve(methods: Methods): void {
  const port = parentPort;
  const answer = async ({ id, method, argument }: Question): Promise<Answer> => {
    try {
      return { id, value: await methods[method]?.(argument as never) };
    } catch (error) {
      return { id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) };
    }
  };
  if (port !== null) {
    port.on('message', (question: Question) => void answer(question).then((value) => port.postMessage(value)));
    return;
  }
  process.on('message', (question: Question) => void answer(question).then((value) => process.send?.(value)));
  // Also writes the profile, where one is asked for.
  process.once('disconnect', () => process.exit(0));
}
