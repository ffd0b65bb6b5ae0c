/**
 * Whether the daemon in this container answers on /healthz, by HTTP or HTTPS: exit code 0 or 1. The image's HEALTHCHECK
 * runs it; images in OCI format have none, so podman and Kubernetes name this file themselves (docs/operation.md).
 */
import { get } from 'node:http';
import { get as getTls } from 'node:https';

const { PARLEY_PORT: port = '8080', PARLEY_HOST: address = '' } = process.env;
/** Where it listens; a daemon on all interfaces is on this one, too. */
const host = ['', '0.0.0.0', '::'].includes(address) ? '127.0.0.1' : address;
const options = { host, port, path: '/healthz', timeout: 2000, agent: false };

/** Certificates name the public host, not this address, so they are not verified. */
const healthy = (await answers(get, options)) || (await answers(getTls, { ...options, rejectUnauthorized: false }));
process.exit(healthy ? 0 : 1);

/**
 * @param {typeof get} request
 * @param {import('node:https').RequestOptions} its
 * @returns {Promise<boolean>} whether the status is 200
 */
function answers(request, its) {
  return new Promise((resolve) => {
    const sent = request(its, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    sent.once('timeout', () => sent.destroy(new Error('timeout')));
    sent.once('error', () => resolve(false));
  });
}
