/** A piece of work of one stream: at most 100 ms of audio, so that nobody waits long for his turn. */
export type Job = () => void;

/**
 * Takes one job of each stream in turn, with a turn of the event loop in between, so that a stream with a backlog
 * (a recording sent at once, say) delays the others by one job only. A stream's own jobs keep their order.
 */
export class RoundRobin {
  readonly #queues = new Map<number, Job[]>();
  #running = false;

  add(stream: number, job: Job): void {
    const queue = this.#queues.get(stream);
    if (queue === undefined) this.#queues.set(stream, [job]);
    else queue.push(job);
    if (this.#running) return;
    this.#running = true;
    setImmediate(() => {
      this.#step();
    });
  }

  /** Forgets what a stream still has to do. */
  drop(stream: number): void {
    this.#queues.delete(stream);
  }

  #step(): void {
    const first = this.#queues.entries().next();
    if (first.done === true) {
      this.#running = false;
      return;
    }
    const [stream, queue] = first.value;
    const job = queue.shift();
    // Behind the others again, or gone.
    this.#queues.delete(stream);
    if (queue.length > 0) this.#queues.set(stream, queue);
    setImmediate(() => {
      this.#step();
    });
    job?.();
  }
}
