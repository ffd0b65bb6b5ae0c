import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer } from 'node:tls';

/** A TLS server in front of a double's address, for SDKs that speak nothing else; the process believes any certificate. */
export async function tlsFront(url) {
  const folder = mkdtempSync(join(tmpdir(), 'parley-tls-'));
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const asked = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  execFileSync('openssl', [...asked, '-subj', '/CN=127.0.0.1', '-keyout', key, '-out', cert], { stdio: 'ignore' });
  const pair = { key: readFileSync(key), cert: readFileSync(cert) };
  rmSync(folder, { recursive: true });
  const { port, hostname } = new URL(url);
  const server = createServer(pair, (socket) => {
    const plain = connect(Number(port), hostname);
    socket.pipe(plain).pipe(socket);
    socket.on('error', () => plain.destroy());
    plain.on('error', () => socket.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
  return { url: `https://127.0.0.1:${server.address().port}`, close: () => server.close() };
}
