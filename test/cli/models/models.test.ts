import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { execFileSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { hasTool } from '../../../scripts/system-tools.mjs';
import { main } from '../../../src/cli/main.js';
import { KNOWN_MODELS } from '../../../src/cli/models/known-models.js';
import { MADE_MODELS } from '../../providers/local/made-models.js';
import { archiveOf, ASR, Mirror, sha256 } from './mirror.js';

const NAME = 'zipformer-en-small';
const FILE = 'sherpa-onnx-streaming-zipformer-en-20M-2023-02-17.tar.bz2';

let data: string;
let mirror: Mirror;
let url: string;
beforeEach(async () => {
  data = await mkdtemp(join(tmpdir(), 'parley-models-'));
  mirror = new Mirror();
  url = await mirror.listen();
  const part = join(data, 'models/.pull', NAME, `${FILE}.part`);
  mirror.stored = (bytes) =>
    vi.waitFor(() => expect(statSync(part).size).toBe(bytes), { timeout: 10_000, interval: 5 });
});
afterEach(async () => {
  await mirror.close();
  await rm(data, { recursive: true });
});

async function run(args: string[], { isTty = false, signal = new AbortController().signal } = {}) {
  const [stdout, stderr] = [new PassThrough(), Object.assign(new PassThrough(), { isTTY: isTty })];
  const env = { PARLEY_DATA_DIR: data, PARLEY_MODELS_URL: url };
  const code = await main(['models', ...args], { stdout, stderr, stdin: new PassThrough(), env, signal });
  return { code, out: String(stdout.read() ?? ''), err: String(stderr.read() ?? '') };
}

function publish(archive: Buffer, checksum: string | null = sha256(archive)): void {
  mirror.files.set(`${ASR}/${FILE}`, archive);
  if (checksum !== null) mirror.files.set(`${ASR}/checksum.txt`, Buffer.from(`x.onnx\tff\n${FILE}\t${checksum}\n`));
}

const place = (): string => join(data, 'models', NAME);

describe('pulling', { skip: !hasTool('bzip2') }, () => {
  it('fetches, checks, unpacks and tries a model, which can then be used', async () => {
    const archive = archiveOf('made-streaming');
    publish(archive);
    const { code, out, err } = await run(['pull', NAME]);
    expect(code).toBe(0);
    expect(out).toContain(`${NAME} is installed: ${place()}`);
    expect(out).toContain(`PARLEY_STT=sherpa PARLEY_STT_MODEL=${NAME}`);
    expect(err).toContain(`SHA-256 ${sha256(archive)}, matches the mirror`);
    expect(err).toContain(`${FILE}: 100 % of`);
    expect(err).toContain(`${NAME}: streaming transducer, works`);
    expect(readdirSync(join(data, 'models'))).toEqual(['.pull', NAME]);
    expect(readdirSync(join(data, 'models/.pull'))).toEqual([`${NAME}.lock`]);
    const origin: unknown = JSON.parse(readFileSync(join(place(), 'parley-model.json'), 'utf8'));
    expect(origin).toMatchObject({
      name: NAME,
      licence: 'Apache-2.0',
      languages: ['en'],
      files: [{ sha256: sha256(archive), checked: 'published' }],
    });
    const list = await run(['list']);
    expect(list.out).toMatch(new RegExp(`\\+ ${NAME} +streaming transducer; en\n`, 'u'));
    expect((await run(['check'])).out).toContain('works: 1 s of audio takes');
    expect((await run(['pull', NAME])).out).toContain('is already installed');
    expect(mirror.asked).toEqual(['checksum.txt 0', `${FILE} 0`]);
  });

  it('draws a bar on a terminal', async () => {
    publish(archiveOf('made-streaming'));
    const { err } = await run(['pull', NAME], { isTty: true });
    expect(err).toMatch(/█+ 100 %\r/u);
    expect(err).not.toContain('100 % of');
  });

  it('goes on by itself where the connection breaks off', async () => {
    publish(archiveOf('made-streaming'));
    mirror.breaksOff = 2;
    expect((await run(['pull', NAME])).code).toBe(0);
    const starts = mirror.asked.slice(1).map((line) => Number(line.split(' ')[1]));
    expect(starts).toHaveLength(3);
    expect(starts).toEqual(starts.toSorted((a, b) => a - b));
    expect(starts[1]).toBeGreaterThan(0);
  });

  it('goes on in a later run, and begins anew where the file is another by then', async () => {
    const archive = archiveOf('made-streaming');
    publish(archive);
    mirror.breaksOff = 9;
    const { code, err } = await run(['pull', NAME]);
    expect(code).toBe(1);
    expect(err).toMatch(/closed the connection|ended the transfer early|terminated|other side closed/u);
    expect(err).toContain('; the next pull resumes after ');
    expect(existsSync(place())).toBe(false);
    mirror.breaksOff = 0;
    mirror.asked.length = 0;
    expect((await run(['pull', NAME])).code).toBe(0);
    expect(Number(mirror.asked[1]?.split(' ')[1])).toBeGreaterThan(0);

    mirror.breaksOff = 9;
    await run(['pull', NAME, '--again']);
    mirror.breaksOff = 0;
    mirror.etag = '"v2"';
    mirror.asked.length = 0;
    expect((await run(['pull', NAME, '--again'])).code).toBe(0);
    expect(mirror.asked[1]).toBe(`${FILE} 0`);
  });

  it('keeps what is here, and nothing of what was fetched, where the checksum is wrong', async () => {
    publish(archiveOf('made-streaming'));
    await run(['pull', NAME]);
    publish(archiveOf('made-whisper'), '0'.repeat(64));
    const { code, err } = await run(['pull', NAME, '--again']);
    expect(code).toBe(1);
    expect(err).toContain(`the mirror says ${'0'.repeat(64)} [MODEL_CHECKSUM_WRONG]`);
    expect(existsSync(join(place(), 'encoder.onnx'))).toBe(true);
    expect(readdirSync(join(data, 'models/.pull', NAME)).filter((name) => name.endsWith('.bz2'))).toEqual([]);
  });

  it('writes a checksum down that nobody has published, and holds the next download to it', async () => {
    publish(archiveOf('made-streaming'), null);
    const { code, err } = await run(['pull', NAME]);
    expect([code, err]).toEqual([0, expect.stringContaining('recorded; the publisher lists no checksum')]);
    publish(archiveOf('made-whisper'), null);
    const again = await run(['pull', NAME, '--again']);
    expect(again.err).toContain('the earlier download says');
  });

  it('does not put a model in its place that does not load, and says why', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'parley-bad-'));
    const model = join(folder, 'bad');
    await mkdir(model);
    for (const name of ['encoder.onnx', 'decoder.onnx', 'joiner.onnx', 'tokens.txt']) {
      // A decoder in place of the encoder has none of its metadata.
      const from = name === 'encoder.onnx' ? 'decoder.onnx' : name;
      writeFileSync(join(model, name), readFileSync(join(MADE_MODELS, 'made-streaming', from)));
    }
    const archive = join(folder, 'bad.tar.bz2');
    execFileSync('tar', ['-cjf', archive, '-C', folder, 'bad']);
    publish(readFileSync(archive));
    await rm(folder, { recursive: true });
    const { code, err } = await run(['pull', NAME]);
    expect(code).toBe(1);
    expect(err).toContain('[MODEL_UNUSABLE]');
    expect(existsSync(place())).toBe(false);
  });

  it('takes nothing from an archive that points out of itself', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'parley-bad-'));
    await mkdir(join(folder, 'bad'));
    await symlink('/etc/hostname', join(folder, 'bad/tokens.txt'));
    const archive = join(folder, 'bad.tar.bz2');
    execFileSync('tar', ['-cjf', archive, '-C', folder, 'bad']);
    publish(readFileSync(archive));
    await rm(folder, { recursive: true });
    expect((await run(['pull', NAME])).err).toContain('its link tokens.txt leaves the archive');
    publish(Buffer.from('this is no archive'));
    expect((await run(['pull', NAME])).err).toContain('it cannot be unpacked');
  });

  it('takes no file from above its folder, and nothing that is no file', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'parley-bad-'));
    await mkdir(join(folder, 'bad'));
    writeFileSync(join(folder, 'bad/tokens.txt'), 'a 0');
    const archive = join(folder, 'bad.tar.bz2');
    execFileSync('tar', ['-cjPf', archive, '-C', folder, '--transform', 's,^bad/,../../../,', 'bad/tokens.txt']);
    publish(readFileSync(archive));
    expect((await run(['pull', NAME])).err).toMatch(/it cannot be unpacked: .*'\.\.'.* \[MODEL_UNUSABLE\]/u);
    expect(existsSync(join(data, 'tokens.txt')) || existsSync(join(data, 'models/tokens.txt'))).toBe(false);
    execFileSync('mkfifo', [join(folder, 'bad/encoder.onnx')]);
    execFileSync('tar', ['-cjf', archive, '-C', folder, 'bad']);
    publish(readFileSync(archive));
    expect((await run(['pull', NAME])).err).toContain('its entry encoder.onnx is neither a file nor a folder');
    await rm(folder, { recursive: true });
  });

  it('is done by one at a time', async () => {
    publish(archiveOf('made-streaming'));
    let open = (): void => undefined;
    mirror.gate = new Promise((resolve) => (open = resolve));
    const first = run(['pull', NAME]);
    // By its first question it has the lock.
    while (mirror.asked.length === 0) await new Promise((resolve) => setImmediate(resolve));
    const { code, err } = await run(['pull', NAME]);
    expect([code, err]).toEqual([1, expect.stringContaining('another process is downloading it')]);
    open();
    expect((await first).code).toBe(0);
  });

  it('takes the archive that is there, where it was interrupted while it was unpacked', async () => {
    const archive = archiveOf('made-streaming');
    publish(archive);
    await mkdir(join(data, 'models/.pull', NAME), { recursive: true });
    writeFileSync(join(data, 'models/.pull', NAME, FILE), archive);
    expect((await run(['pull', NAME])).code).toBe(0);
    expect(mirror.asked).toEqual(['checksum.txt 0']);
  });
});

describe('single files', () => {
  const path = '/huggingface.co/pipecat-ai/smart-turn-v3/resolve/main/smart-turn-v3.2-cpu.onnx';

  it('takes the checksum that Hugging Face tells on the way', async () => {
    const file = readFileSync(join(MADE_MODELS, 'made-turn/model.onnx'));
    mirror.files.set(path, file);
    mirror.linkedEtag = `"${sha256(file)}"`;
    const { code, out, err } = await run(['pull', 'smart-turn']);
    expect([code, err]).toEqual([0, expect.stringContaining('matches the mirror')]);
    expect(out).toContain('PARLEY_TURN_MODEL_PATH=smart-turn');
    mirror.linkedEtag = `"${'f'.repeat(64)}"`;
    expect((await run(['pull', 'smart-turn', '--again'])).err).toContain('[MODEL_CHECKSUM_WRONG]');
  });
});

describe('what cannot be had', () => {
  it('says that nobody is there, and keeps nothing', async () => {
    await mirror.close();
    const { code, err } = await run(['pull', 'gtcrn']);
    expect(code).toBe(1);
    expect(err).toMatch(/The model gtcrn cannot be downloaded: 127.0.0.1:\d+ refuses the connection \(ECONNREFUSED\)/u);
    mirror = new Mirror();
    await mirror.listen();
  });

  it.each([
    [404, /smart-turn-v3.2-cpu.onnx no longer exists/u],
    [503, /answers with status 503/u],
  ])('says that the publisher answers with %i', async (status, message) => {
    mirror.status = status;
    if (status !== 404) {
      mirror.files.set(
        '/huggingface.co/pipecat-ai/smart-turn-v3/resolve/main/smart-turn-v3.2-cpu.onnx',
        Buffer.from('x'),
      );
    }
    expect((await run(['pull', 'smart-turn'])).err).toMatch(message);
  });

  it('tells a network that wants a login from a publisher', async () => {
    mirror.isPortal = true;
    expect((await run(['pull', 'smart-turn'])).err).toContain(
      'a web page instead of the file; the network may require a login',
    );
  });

  it('ends on request, and says what becomes of what is here', async () => {
    const signal = AbortSignal.abort(new Error('SIGINT'));
    const { code, err } = await run(['pull', 'smart-turn'], { signal });
    expect([code, err]).toEqual([130, expect.stringContaining('the next pull resumes the download')]);
  });

  it('knows the names', async () => {
    expect((await run(['pull', 'nonsense'])).err).toContain('[NOT_FOUND]');
    expect((await run(['pull'])).code).toBe(2);
    expect((await run(['push', 'x'])).code).toBe(2);
  });
});

it('lists what is known, with a licence each and addresses of its publisher', async () => {
  const { out } = await run(['list', '--json']);
  const { known } = JSON.parse(out) as { known: { name: string }[] };
  expect(known.map(({ name }) => name)).toEqual(Object.keys(KNOWN_MODELS));
  for (const { licence, files } of Object.values(KNOWN_MODELS)) {
    expect(licence).not.toBe('');
    for (const file of files) {
      expect(file.url).toMatch(/^https:\/\/(?:github\.com\/k2-fsa|huggingface\.co)\//u);
      expect(file.as === 'tar.bz2').toBe(file.url.endsWith('.tar.bz2'));
    }
  }
});
