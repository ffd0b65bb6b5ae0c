import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { levelOf } from '../../../src/audio/dsp/level.js';
import { packageFile } from '../../../src/package-files.js';
import type { TalkServerMessage } from '../../../src/transports/talk-protocol.js';
import type { TalkingBrowser } from '../browser.js';
import type { ServedDaemon } from '../served-daemon.js';

const RATE_HZ = 16_000;
const FRAME = 320;
/** Quieter frames of 20 ms are a pause. */
const PAUSE_DB = -55;
const PATIENCE = { timeout: 150_000, polling: 50 };

const FILES: Readonly<Record<string, readonly [path: string, type: string]>> = {
  'page.html': [fileURLToPath(new URL('page.html', import.meta.url)), 'text/html'],
  'talk.js': [fileURLToPath(packageFile('examples/webrtc/talk.js')), 'text/javascript'],
  'table.wav': [fileURLToPath(packageFile('fixtures/audio/booking/slt/table.wav')), 'audio/wav'],
};

type Method = TalkServerMessage['method'];

/** A page that talks over WebRTC with the example's code. */
export class WebRtcCaller {
  private constructor(readonly page: Page) {}

  static async open(browser: TalkingBrowser, daemon: ServedDaemon): Promise<WebRtcCaller> {
    const page = await browser.visit(`${daemon.address}/under-test/page.html`, (fresh) =>
      fresh.route('**/under-test/*', (route) => {
        const [path, contentType] = FILES[new URL(route.request().url()).pathname.split('/').at(-1) ?? ''] ?? [];
        return path === undefined
          ? route.abort()
          : route.fulfill({ body: readFileSync(path), contentType: contentType ?? '' });
      }),
    );
    await page.waitForSelector('body[data-ready]', { state: 'attached', timeout: PATIENCE.timeout });
    return new WebRtcCaller(page);
  }

  /** Begins a call. Resolves when the connection is being made. */
  async begin(publicKey: string, agentId: string): Promise<void> {
    await this.do(`call.begin('${publicKey}', '${agentId}')`);
  }

  /** Evaluates an expression in the page. */
  do<T = unknown>(expression: string): Promise<T> {
    return this.page.evaluate<T>(expression);
  }

  async send(message: object): Promise<void> {
    await this.do(`call.send(${JSON.stringify(message)})`);
  }

  async messages(): Promise<TalkServerMessage[]> {
    return this.do('call.messages');
  }

  /** Waits for a message behind the first `after`, whose data has `text` in it. Returns how many there are up to it. */
  async message(method: Method, { after = 0, text = '', final = false } = {}): Promise<number> {
    const found =
      `call.messages.findIndex(({ method, data, payload }, n) => n >= ${String(after)} && method === '${method}'` +
      ` && String(data ?? '').includes(${JSON.stringify(text)}) && (!${String(final)} || payload.is_final)) + 1`;
    const handle = await this.page.waitForFunction(found, undefined, PATIENCE);
    return (await handle.jsonValue()) as number;
  }

  /** What has been heard since it was asked last, at 16 kHz. */
  async takeHeard(): Promise<Int16Array> {
    const bytes = Buffer.from(await this.do<string>('call.takeHeard()'), 'base64');
    return new Int16Array(bytes.buffer, bytes.byteOffset, bytes.length / 2).slice();
  }

  /** Waits until there is nothing but silence for a while. Returns what was heard by then. */
  async heardUntilSilent(quietMs: number): Promise<Int16Array> {
    const parts: Int16Array[] = [];
    const deadline = Date.now() + PATIENCE.timeout;
    for (;;) {
      parts.push(await this.takeHeard());
      const all = joined(parts);
      const sounds = soundsIn(all);
      if (sounds.length > 0 && (all.length - (sounds.at(-1)?.endSample ?? 0)) / 16 > quietMs) return all;
      if (Date.now() > deadline) throw new Error('it does not become silent');
      await this.page.waitForFunction('call.heard.length > 25', undefined, PATIENCE);
    }
  }
}

function joined(parts: readonly Int16Array[]): Int16Array {
  const all = new Int16Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** A stretch of sound between pauses. */
export interface Sound {
  startSample: number;
  endSample: number;
}

/** The stretches of sound between pauses of more than `pauseMs`. */
export function soundsIn(samples: Int16Array, pauseMs = 0): Sound[] {
  const sounds: Sound[] = [];
  for (let at = 0; at + FRAME <= samples.length; at += FRAME) {
    if (levelOf(samples.subarray(at, at + FRAME)).rmsDbfs < PAUSE_DB) continue;
    const last = sounds.at(-1);
    if (last !== undefined && at - last.endSample <= (pauseMs * RATE_HZ) / 1000) last.endSample = at + FRAME;
    else sounds.push({ startSample: at, endSample: at + FRAME });
  }
  return sounds;
}
