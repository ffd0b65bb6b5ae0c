import { createParser } from 'eventsource-parser';

/** Maximum length of an event, in characters. */
const MAX_EVENT_CHARS = 1_048_576;

/** The data of each server-sent event of a body, as it arrives. Throws if an event is too long. */
export async function* serverSentEvents(body: AsyncIterable<Buffer>): AsyncGenerator<string, void, undefined> {
  const ready: string[] = [];
  let overflow = false;
  const parser = createParser({
    maxBufferSize: MAX_EVENT_CHARS,
    onEvent: (event) => ready.push(event.data),
    onError: (error) => {
      overflow ||= error.type === 'max-buffer-size-exceeded';
    },
  });
  const decoder = new TextDecoder();
  for await (const chunk of body) {
    parser.feed(decoder.decode(chunk, { stream: true }));
    if (overflow) throw new Error('an event is too long');
    yield* ready.splice(0);
  }
}
