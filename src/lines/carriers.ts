import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { withTimeout } from '../base/deadlines.js';
import { errorOf, ParleyError } from '../base/errors.js';
import { nowUnixMs } from '../base/real-clock.js';
import { readBody } from '../net/guarded-client.js';
import { parseWith } from '../schema/issues.js';
import { DEFAULT_PLIVO, plivoSchema, type PlivoSettings } from '../settings/carriers/plivo.js';
import { DEFAULT_TELNYX, telnyxSchema, type TelnyxSettings } from '../settings/carriers/telnyx.js';
import { DEFAULT_TWILIO, twilioSchema, type TwilioSettings } from '../settings/carriers/twilio.js';
import type { Carrier, SocketRefusal } from '../telephony/carriers/carrier.js';
import type { CarrierAccount } from '../telephony/carriers/media-socket/carrier-account.js';
import { MediaSockets } from '../telephony/carriers/media-socket/media-socket.js';
import { headersOf, type WebhookEndpoint } from '../telephony/carriers/media-socket/webhook-endpoint.js';
import { plivoCarrier } from '../telephony/carriers/plivo/open.js';
import { telnyxCarrier } from '../telephony/carriers/telnyx/open.js';
import { twilioCarrier } from '../telephony/carriers/twilio/open.js';
import { assertEngine, type LineOptions, type PhoneLine, SwitchedLine, withoutUnset } from './line.js';

/** What the lines of carriers take. */
export interface CarrierLineOptions extends LineOptions {
  /** Public address of your server, such as `https://voice.example.com`; the carrier's requests come below it. */
  publicUrl: string;
  /** Numbers of the account whose calls come in, E.164. Default none. */
  numbers?: readonly string[] | undefined;
  /** A request, media socket or call was refused: why, in words. Default: it is not told. */
  onRefused?: ((refusal: SocketRefusal, why: string) => void) | undefined;
}

/** An account SID and its token. Other settings as those of the daemon in `twilio`, see docs/twilio.md. */
export interface TwilioLineOptions extends CarrierLineOptions, Partial<Omit<TwilioSettings, 'accountSid'>> {
  accountSid: string;
  authToken: string;
}

/** A Voice API application, its key and the account's public key; other settings as in `telnyx`, see docs/telnyx.md. */
export interface TelnyxLineOptions
  extends CarrierLineOptions, Partial<Omit<TelnyxSettings, 'connectionId' | 'publicKey'>> {
  connectionId: string;
  publicKey: string;
  apiKey: string;
}

/** An Auth ID and its token. Other settings as those of the daemon in `plivo`, see docs/plivo.md. */
export interface PlivoLineOptions extends CarrierLineOptions, Partial<Omit<PlivoSettings, 'authId'>> {
  authId: string;
  authToken: string;
}

/** Calls of an account with a carrier, whose webhooks and media sockets come to your own HTTP server. */
export interface CarrierLine extends PhoneLine {
  /** The account's numbers: to search, buy, direct to this server, release. */
  readonly carrier: Carrier & Required<Pick<Carrier, 'directNumber'>>;
  /** Path below `publicUrl` of the carrier's requests, such as `/carriers/twilio`. */
  readonly path: string;
  /**
   * Answers a request of the carrier, if it is below `path`. Returns whether it is. Nothing else must read its body.
   */
  handle(request: IncomingMessage, response: ServerResponse): boolean;
  /** Takes a request for a media socket, if it is below `path`. Returns whether it is. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): boolean;
}

/** @throws ParleyError CONFIG_INVALID, ARGUMENT_INVALID without an engine */
export async function twilioLine(options: TwilioLineOptions): Promise<CarrierLine> {
  const { authToken, common, given } = separated(options);
  const settings = { ...DEFAULT_TWILIO, ...parseWith(twilioSchema, given) };
  return carrierLine(options, twilioCarrier({ ...common, settings, authToken: authToken ?? null }));
}

/** @throws ParleyError CONFIG_INVALID, ARGUMENT_INVALID without an engine */
export async function telnyxLine(options: TelnyxLineOptions): Promise<CarrierLine> {
  const { apiKey, common, given } = separated(options);
  const settings = { ...DEFAULT_TELNYX, ...parseWith(telnyxSchema, given) };
  return carrierLine(options, telnyxCarrier({ ...common, settings, apiKey: apiKey ?? null, nowUnixMs }));
}

/** @throws ParleyError CONFIG_INVALID, ARGUMENT_INVALID without an engine */
export async function plivoLine(options: PlivoLineOptions): Promise<CarrierLine> {
  const { authToken, common, given } = separated(options);
  const settings = { ...DEFAULT_PLIVO, ...parseWith(plivoSchema, given) };
  return carrierLine(options, plivoCarrier({ ...common, settings, authToken: authToken ?? null }));
}

/** The common options, the secrets, and the carrier's own settings. */
function separated({
  engine,
  mayTransfer: _mayTransfer,
  onError,
  publicUrl,
  numbers = [],
  onRefused,
  authToken,
  apiKey,
  ...given
}: CarrierLineOptions & { authToken?: string; apiKey?: string }): {
  common: CarrierAccount;
  authToken: string | undefined;
  apiKey: string | undefined;
  given: object;
} {
  assertEngine(engine);
  const common: CarrierAccount = {
    engine,
    publicUrl,
    owned: numbers,
    onError: (error) => onError?.(errorOf(error)),
    onRefused,
  };
  return { common, authToken, apiKey, given: withoutUnset(given) };
}

/** Deadline for the body of a webhook. */
const BODY_MS = 10_000;
/** Largest body of a webhook. */
const MAX_BODY_BYTES = 262_144;

async function carrierLine(
  { engine, mayTransfer, onError }: CarrierLineOptions,
  opening: Promise<{ carrier: CarrierLine['carrier'] & WebhookEndpoint; close: () => Promise<void> }>,
): Promise<CarrierLine> {
  const { carrier, close } = await opening;
  const { path } = carrier;
  const { clock } = engine;
  const sockets = new MediaSockets(clock);
  const line = new SwitchedLine({
    engine,
    mayTransfer,
    onError,
    carrier,
    closing: async () => {
      sockets.close();
      await close();
    },
  });
  const isOurs = ({ url = '' }: IncomingMessage): boolean => url.startsWith(`${path}/`);
  const reply = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (request.readableEnded) {
      const reason = 'the body of the request has been read already: pass it on before anything parses bodies';
      throw new ParleyError('ARGUMENT_INVALID', { argument: 'CarrierLine.handle', reason });
    }
    const body = await withTimeout(clock, BODY_MS, () => readBody(request, MAX_BODY_BYTES));
    const { method = '', url = '', headers } = request;
    const answer = await carrier.request({ method, path: url, headers: headersOf(headers), body });
    response.writeHead(answer.status, { 'content-type': answer.contentType }).end(answer.body);
  };
  const handle: CarrierLine['handle'] = (request, response) => {
    if (!isOurs(request)) return false;
    reply(request, response).catch((error: unknown) => {
      onError?.(errorOf(error));
      const status = error instanceof ParleyError ? error.httpStatus : 500;
      if (!response.headersSent) response.writeHead(status, { connection: 'close' });
      response.end();
    });
    return true;
  };
  const upgrade: CarrierLine['upgrade'] = (request, socket, head) => {
    if (!isOurs(request)) return false;
    socket.on('error', () => socket.destroy());
    const take = carrier.admit({ path: request.url ?? '', headers: headersOf(request.headers) });
    sockets.open({ request, socket, head }, take);
    return true;
  };
  return Object.assign(line, { carrier, path, handle, upgrade });
}
