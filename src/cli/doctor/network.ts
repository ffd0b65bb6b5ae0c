import { once } from 'node:events';
import { get as getHttp } from 'node:http';
import { get as getHttps } from 'node:https';
import { createServer } from 'node:net';
import { type ModelRoutes, SCRIPTED_MODEL } from '../../settings/models.js';
import type { Settings } from '../../settings/settings.js';
import {
  missingOf,
  type Offer,
  type VendorName,
  VENDORS,
  type Vendors,
  vendorsOf,
} from '../../settings/vendor-settings.js';
import { isLoopbackName } from '../../daemon/http/access.js';
import { TlsFiles } from '../../daemon/http/tls.js';
import { ParleyError, reasonOf } from '../../base/errors.js';
import { readBody } from '../../net/guarded-client.js';
import { llmRegistry } from '../../providers/llm/registry.js';
import { sttProvider } from '../../providers/stt/registry.js';
import { ttsProvider } from '../../providers/tts/registry.js';
import { type Check, hint, ok, problem } from './check.js';

const DAY_MS = 86_400_000;
/** Timeout for reachability. */
const REACH_MS = 3000;

/** Checks that the daemon can listen or is running, and that browsers will grant its pages the microphone. */
export async function checkListening(settings: Settings, unixMs: number): Promise<Check[]> {
  return [await checkPort(settings), ...checkTls(settings, unixMs)];
}

async function checkPort(settings: Settings): Promise<Check> {
  const { host, port } = settings;
  const where = `${host}:${String(port)}`;
  const server = createServer();
  try {
    server.listen(port, host);
    await once(server, 'listening');
    return ok('port', `${where} is free`);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : null;
    if (code !== 'EADDRINUSE')
      return problem('port', `${where}: ${reasonOf(error)}`, 'set PARLEY_HOST and PARLEY_PORT');
    return (await isParley(settings))
      ? ok('port', `a daemon answers on ${where}`)
      : problem('port', `another program listens on ${where}`, 'set another port with PARLEY_PORT');
  } finally {
    server.close();
  }
}

/** Whether parley listens there. The certificate does not matter for this and is not verified. */
async function isParley(settings: Settings): Promise<boolean> {
  const { host, port, tlsCertPath } = settings;
  const name = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  const options = { host: name, port, path: '/healthz', timeout: REACH_MS, rejectUnauthorized: false, agent: false };
  return new Promise((resolve) => {
    const request = (tlsCertPath === null ? getHttp : getHttps)(options, (reply) => {
      readBody(reply, 10_000).then(
        (body) => resolve(body.toString('utf8').includes('"ok"')),
        () => resolve(false),
      );
    });
    request.on('timeout', () => request.destroy());
    request.on('error', () => resolve(false));
  });
}

function checkTls(settings: Settings, unixMs: number): Check[] {
  const { host } = settings;
  let files: TlsFiles | null;
  let expiresUnixMs = 0;
  try {
    files = TlsFiles.of(settings);
    if (files !== null) expiresUnixMs = files.expiresUnixMs;
  } catch (error) {
    const help = 'set PARLEY_TLS_CERT_PATH and PARLEY_TLS_KEY_PATH to matching PEM files';
    return [problem('https', reasonOf(error), help)];
  }
  if (files !== null) {
    const days = Math.floor((expiresUnixMs - unixMs) / DAY_MS);
    const help = 'renew it; the daemon reloads the file';
    if (days < 0) return [problem('https', 'the certificate has expired', help)];
    const text = `the certificate is valid for ${String(days)} more days`;
    return [days < 14 ? hint('https', text, help) : ok('https', text)];
  }
  return [
    isLoopbackName(host)
      ? ok('https', 'not needed: browsers grant the microphone to pages of this machine')
      : hint(
          'https',
          `browsers deny pages on ${host} the microphone, because the origin is not secure`,
          'set PARLEY_TLS_CERT_PATH and PARLEY_TLS_KEY_PATH, or use an HTTPS proxy (docs/operation.md)',
        ),
  ];
}

/** Checks the configured keys and whether their vendors answer. */
export async function checkProviders(settings: Settings, routes: ModelRoutes, ollama: string | null): Promise<Check[]> {
  const { openaiApiKey, openaiBaseUrl } = settings;
  const models = Object.entries(settings.models).flatMap(([id, { baseUrl, apiKey }]) =>
    baseUrl === undefined ? [] : [checkApi(`model ${id}`, baseUrl, apiKey ?? null)],
  );
  const openai = openaiApiKey === null ? [] : [checkApi('openai', openaiBaseUrl, openaiApiKey)];
  const found = await Promise.all([...openai, ...models]);
  const noModel = [...routes.keys()].every((id) => id === SCRIPTED_MODEL);
  return [
    ...found,
    ...(ollama === null ? [] : [ok('ollama', ollama)]),
    ...(noModel
      ? [
          hint(
            'language model',
            'none: agents without a script cannot answer',
            'set OPENAI_API_KEY or ANTHROPIC_API_KEY, or run Ollama with a model',
          ),
        ]
      : []),
    ...(await checkVendors(settings, routes)),
  ];
}

/** Checks that the settings of vendors are complete, and that the vendors accept them. */
async function checkVendors(settings: Settings, routes: ModelRoutes): Promise<Check[]> {
  const vendors = vendorsOf(settings);
  const names = (Object.keys(vendors) as VendorName[]).filter((name) => name !== 'openai');
  return Promise.all(names.map((name) => checkVendor(name, vendors, routes)));
}

async function checkVendor(name: VendorName, vendors: Vendors, routes: ModelRoutes): Promise<Check> {
  const missing = missingOf(name, vendors);
  if (missing !== null) return problem(name, 'settings are missing', `set ${missing}`);
  if (VENDORS[name].offers.length === 0) {
    return hint(name, 'the key is not used: this version has no adapter for the vendor', 'remove the key, or update');
  }
  try {
    await warmUp(name, vendors, routes);
    return ok(name, `it answers; parley providers test ${name} tests a whole round trip`);
  } catch (error) {
    const help = `run parley providers test ${name} for details`;
    if (!(error instanceof ParleyError)) throw error;
    return error.code === 'PROVIDER_REFUSED'
      ? problem(name, error.message, help)
      : hint(name, `it does not answer: ${error.message}`, help);
  }
}

/** Warms the vendor's providers up as a session does; some vendors' only open a connection. */
async function warmUp(name: VendorName, vendors: Vendors, routes: ModelRoutes): Promise<void> {
  const offers: readonly Offer[] = VENDORS[name].offers;
  const [model] = [...routes].find(([, { provider }]) => provider === name) ?? [];
  const makers: (() => { warmUp(): Promise<void>; close(): Promise<void> })[] = [
    ...(offers.includes('stt') ? [() => sttProvider(name, vendors)] : []),
    ...(offers.includes('tts') ? [() => ttsProvider(name, vendors)] : []),
    ...(offers.includes('llm') && model !== undefined ? [() => llmRegistry(routes).resolve(model)] : []),
  ];
  await Promise.all(
    makers.map(async (make) => {
      const provider = make();
      try {
        await provider.warmUp();
      } finally {
        await provider.close();
      }
    }),
  );
}

async function checkApi(name: string, baseUrl: string, key: string | null): Promise<Check> {
  const url = `${baseUrl.replace(/\/+$/, '')}/models`;
  const { origin } = new URL(baseUrl);
  const reply = await reach(url, key === null ? {} : { authorization: `Bearer ${key}` });
  if (typeof reply === 'string')
    return problem(name, `${origin} does not answer: ${reply}`, 'check the address and the network');
  await reply.body?.cancel();
  if (reply.status === 401 || reply.status === 403)
    return problem(name, `${origin} rejects the key`, 'set a valid key');
  if (reply.status >= 500)
    return problem(name, `${origin} answers with status ${String(reply.status)}`, 'try again later');
  return ok(name, `${origin} answers`);
}

/** The reply, or an error text. */
async function reach(url: string, headers: Record<string, string>): Promise<Response | string> {
  try {
    return await fetch(url, { headers, redirect: 'manual', signal: AbortSignal.timeout(REACH_MS) });
  } catch (error) {
    return reasonOf(error instanceof Error && error.cause instanceof Error ? error.cause : error);
  }
}
