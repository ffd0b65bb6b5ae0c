import type { House } from '../house.js';
import { PRIVATE_KEY } from '../house.js';
import type { RunReply } from '../../../src/daemon/evals/replies.js';

export interface Reply<T = Record<string, unknown>> {
  status: number;
  body: T;
}

export const SUITE = {
  name: 'Bread',
  cases: [
    {
      name: 'asks for bread',
      tags: ['smoke'],
      caller: { script: [{ say: 'Have you any bread?' }] },
      expect: [{ said: 'bread' }],
    },
    { name: 'says nothing', caller: { script: [{ hang_up: true }] }, expect: [{ turns: { max: 0 } }] },
  ],
};

/** Requests to `/evals`, with the private key. */
export class EvalClient {
  readonly #house: House;

  constructor(house: House) {
    this.#house = house;
  }

  async ask<T = Record<string, unknown>>(method: string, path: string, body?: unknown): Promise<Reply<T>> {
    const answer = await this.#house.ask(path, {
      method,
      headers: { authorization: PRIVATE_KEY, ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return answer as Reply<T>;
  }

  /** The id of a new suite of the baker. */
  async suite(suite: unknown = SUITE): Promise<string> {
    const { status, body } = await this.ask('POST', '/evals/suites', { suite, agent_id: 'baker' });
    if (status !== 200) throw new Error(JSON.stringify(body));
    return String(body['id']);
  }

  async start(suiteId: string, more: Record<string, unknown> = {}): Promise<RunReply> {
    const { status, body } = await this.ask<RunReply>('POST', '/evals/runs', { suite_id: suiteId, ...more });
    if (status !== 200) throw new Error(JSON.stringify(body));
    return body;
  }

  async run(id: string): Promise<RunReply> {
    return (await this.ask<RunReply>('GET', `/evals/runs/${id}`)).body;
  }

  /** The states that the progress stream sends, to its end. */
  async *progress(id: string): AsyncGenerator<Record<string, unknown>> {
    const response = await this.#house.request(`/evals/runs/${id}/progress`, {
      headers: { authorization: PRIVATE_KEY },
      signal: AbortSignal.timeout(110_000),
    });
    if (response.status !== 200 || response.body === null) throw new Error(await response.text());
    let rest = '';
    for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
      rest += chunk;
      const blocks = rest.split('\n\n');
      rest = blocks.pop() ?? '';
      for (const block of blocks) {
        const data = /^data: (.*)$/m.exec(block)?.[1];
        if (data !== undefined) yield JSON.parse(data) as Record<string, unknown>;
      }
    }
  }

  /** Resolves with the run when it is over. */
  async over(id: string): Promise<RunReply> {
    for await (const state of this.progress(id)) if (!['queued', 'running'].includes(String(state['status']))) break;
    return this.run(id);
  }
}
