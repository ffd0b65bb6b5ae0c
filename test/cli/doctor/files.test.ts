import { afterEach, beforeEach, expect, it } from 'vitest';
import { checkFiles } from '../../../src/cli/doctor/files.js';
import { S3Double } from '../../vendors/s3.js';

let double: S3Double;

beforeEach(async () => {
  double = await S3Double.start();
});

afterEach(() => double.close());

const settings = () => ({ ...double.settings(), filesSessionToken: null });

it('makes a round trip and leaves nothing behind', async () => {
  expect(await checkFiles(settings())).toMatchObject([
    { name: 'files', level: 'ok', text: 's3://calls/parley takes, returns, lists and deletes files' },
  ]);
  expect([double.objects.size, double.uploads.size]).toEqual([0, 0]);
  expect(double.calls.map(({ headers }) => headers['range']).filter((range) => range !== undefined)).toEqual([
    'bytes=2-4',
  ]);
});

it('says which step fails, and deletes the file', async () => {
  double.fault = ({ query }) => (query['list-type'] === '2' ? { status: 403, code: 'AccessDenied' } : null);
  expect(await checkFiles(settings())).toMatchObject([
    {
      level: 'problem',
      text: 'listing: The file store s3://calls/parley refused the request: AccessDenied (AccessDenied)',
    },
  ]);
  expect(double.objects.size).toBe(0);
});

it('names a wrong key and a missing one', async () => {
  expect(await checkFiles({ ...settings(), filesSecretAccessKey: 'wrong' })).toMatchObject([
    { level: 'problem', text: expect.stringContaining('writing: ') as string },
  ]);
  expect(await checkFiles({ ...settings(), filesAccessKeyId: null })).toMatchObject([
    { level: 'problem', text: expect.stringContaining('AWS_ACCESS_KEY_ID') as string },
  ]);
  expect(await checkFiles({ ...settings(), files: null })).toEqual([]);
});
