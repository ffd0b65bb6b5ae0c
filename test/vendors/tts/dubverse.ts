import type { IncomingMessage, ServerResponse } from 'node:http';
import * as z from 'zod';
import { HttpSpeechDouble } from './http-speech.js';
import { KEY } from './speech-double.js';

/** Dubverse's text-to-speech endpoint, strict about what it is sent. Written from docs.dubverse.ai/first-call (read 2026-11-21). */
const bodySchema = z.strictObject({
  text: z.string().min(1),
  speaker_no: z.int().positive(),
  config: z
    .strictObject({
      use_streaming_response: z.boolean().exactOptional(),
      sample_rate: z.int().min(8000).max(48_000).exactOptional(),
      instructions: z.string().exactOptional(),
    })
    .exactOptional(),
});

export class DubverseDouble extends HttpSpeechDouble {
  protected override onHttp({ method, url, headers }: IncomingMessage, body: string, response: ServerResponse): void {
    this.requests.push({ headers, body });
    if (headers['x-api-key'] !== KEY) this.refuse(response, 401, { detail: 'Invalid API key' });
    else if (method !== 'POST' || url !== '/api/tts') this.refuse(response, 404, { detail: 'Not Found' });
    else {
      const parsed = bodySchema.safeParse(JSON.parse(body));
      if (parsed.success) this.answer(response, parsed.data.text, 22_050, 'wav');
      else {
        this.violation(`no body of the protocol: ${body.slice(0, 300)}`);
        this.refuse(response, 422, { detail: parsed.error.message });
      }
    }
  }
}
