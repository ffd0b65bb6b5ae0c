import type { IncomingMessage, ServerResponse } from 'node:http';
import { cutAnywhere, madeSpeech } from './made-speech.js';
import { SpeechDouble } from './speech-double.js';

/** The ground of the doubles of vendors that speak over HTTP. */
export abstract class HttpSpeechDouble extends SpeechDouble {
  readonly requests: { headers: IncomingMessage['headers']; body: string }[] = [];
  #dead = 0;

  /** Streams the text's speech as the reply. */
  protected answer(response: ServerResponse, text: string, rateHz: number, format: 'pcm' | 'wav'): void {
    this.spoken.push(text);
    this.changed();
    if (this.#dead < (this.faults.deadConnections ?? 0)) {
      this.#dead++;
      response.socket?.destroy();
      return;
    }
    if (this.faults.stall === true) {
      response.on('close', () => this.#left(response));
      return;
    }
    response.writeHead(200, { 'content-type': format === 'wav' ? 'audio/wav' : 'audio/pcm' });
    const { bytes } = madeSpeech(text, rateHz);
    const whole = format === 'wav' ? Buffer.concat([wavHeader(rateHz), bytes]) : bytes;
    const stop = this.pour(
      cutAnywhere(whole, 4001),
      {
        send: (piece) => response.write(piece),
        drop: () => response.socket?.destroy(),
        error: () => response.socket?.resetAndDestroy(),
        // No length of a chunk.
        garbage: () => response.socket?.write('zz\r\n{"oops"\r\n'),
      },
      () => response.end(),
    );
    response.on('close', () => {
      stop();
      this.#left(response);
    });
  }

  protected refuse(response: ServerResponse, status: number, body: object | string): void {
    response.writeHead(status, { 'content-type': typeof body === 'string' ? 'text/plain' : 'application/json' });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  }

  #left(response: ServerResponse): void {
    if (response.writableFinished) return;
    this.cancelled++;
    this.changed();
  }
}

/** With lengths as of a file that is still being made. */
function wavHeader(rateHz: number): Buffer {
  const header = Buffer.alloc(44);
  header.write('RIFF', 0);
  header.writeUInt32LE(0xff_ff_ff_ff, 4);
  header.write('WAVEfmt ', 8);
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(rateHz, 24);
  header.writeUInt32LE(rateHz * 2, 28);
  header.writeUInt16LE(2, 32);
  header.writeUInt16LE(16, 34);
  header.write('data', 36);
  header.writeUInt32LE(0xff_ff_ff_ff, 40);
  return header;
}
