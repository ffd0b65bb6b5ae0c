import { VENDORS, type VendorName } from '../../config/vendor-settings.js';
import type { ParleyError } from '../../errors.js';

/** What is asked of an error, in order; the first that fits says what to do. */
const CAUSES: readonly [fits: (error: ParleyError) => boolean, remedy: (names: Names) => string][] = [
  [hasStatus(401, 403), ({ key }) => `the key is not accepted: check ${key}`],
  [saysOf(/\bkey is not known\b/), ({ key }) => `the key is not accepted: check ${key}`],
  [hasStatus(402), () => 'the account has no credit left: top it up with the vendor'],
  [hasStatus(404), ({ address }) => `nothing of that name is there: check --model and --voice, and ${address}`],
  [hasStatus(429), () => 'too many requests for this account just now: wait a while, or ask the vendor for more'],
  [
    ({ details }) => Number(details['status']) >= 500,
    () => "the vendor's server has a fault: look at its status page, try again",
  ],
  [
    saysOf(/ENOTFOUND|EAI_AGAIN/),
    ({ address }) => `that name is not found: there is no network here, or ${address} is wrong`,
  ],
  [saysOf(/ECONNREFUSED/), ({ address }) => `nobody listens there: is the server running, and is ${address} right?`],
  [
    saysOf(/ECONNRESET|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|EPIPE/),
    () => 'the network does not get through: a firewall, or none at all',
  ],
  [
    saysOf(/certificate|CERT_|self-signed/i),
    () => 'its certificate is not trusted: a proxy between, or a wrong address; NODE_EXTRA_CA_CERTS names others',
  ],
  [
    ({ code }) => code === 'PROVIDER_TIMEOUT',
    ({ address }) =>
      `it was asked and said nothing: a slow network, a vendor in trouble, or another server at ${address}`,
  ],
];

interface VendorVariables {
  apiKey?: string;
  baseUrl: string;
  region?: string;
}

/** Variables, or words for them. */
interface Names {
  key: string;
  address: string;
}

/** What somebody can do about a trial that has failed; null = the error says all there is. */
export function remedyOf(error: ParleyError, vendor: VendorName | null): string | null {
  const env: VendorVariables | null = vendor === null ? null : VENDORS[vendor].env;
  const names = {
    key: env?.apiKey ?? "the model's key in the settings",
    address: env === null ? "the model's address in the settings" : [env.baseUrl, env.region ?? []].flat().join(' or '),
  };
  return CAUSES.find(([fits]) => fits(error))?.[1](names) ?? null;
}

function hasStatus(...statuses: readonly number[]): (error: ParleyError) => boolean {
  return ({ details }) => statuses.includes(Number(details['status']));
}

function saysOf(pattern: RegExp): (error: ParleyError) => boolean {
  return ({ message }) => pattern.test(message);
}
