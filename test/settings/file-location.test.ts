import { describe, expect, it } from 'vitest';
import { fileLocation, fileLocationSchema } from '../../src/settings/file-location.js';
import { loadSettings } from '../../src/settings/load-settings.js';

describe('PARLEY_FILES', () => {
  it('names a bucket of AWS', () => {
    expect(fileLocation('s3://calls?region=eu-central-1')).toEqual({
      bucket: 'calls',
      prefix: '',
      region: 'eu-central-1',
      endpoint: 'https://s3.eu-central-1.amazonaws.com',
      pathStyle: false,
      encryption: null,
      redirects: false,
    });
  });

  it('names a bucket of another store, with its encryption', () => {
    const text =
      's3://calls/a/b/?endpoint=https://minio.example:9000&sse=aws:kms&kms_key=alias/calls&redirect=1&path_style=0';
    expect(fileLocation(text)).toEqual({
      bucket: 'calls',
      prefix: 'a/b',
      region: 'us-east-1',
      endpoint: 'https://minio.example:9000',
      pathStyle: false,
      encryption: { method: 'aws:kms', keyId: 'alias/calls' },
      redirects: true,
    });
    expect(fileLocation('s3://calls?endpoint=http://127.0.0.1:9000').pathStyle).toBe(true);
  });

  it.each([
    ['https://calls', 'it does not begin with s3://'],
    ['s3://Calls_1', '"Calls_1" is not the name of a bucket'],
    ['s3://key:secret@calls', 'it has more than a bucket, a prefix and parameters'],
    ['s3://calls/a//b', 'the prefix has characters that are unsafe in keys'],
    ['s3://calls/a b', 'the prefix has characters that are unsafe in keys'],
    [
      's3://calls?regoin=x',
      'unknown parameter "regoin"; known are region, endpoint, path_style, sse, kms_key, redirect',
    ],
    ['s3://calls?region=a&region=b', 'region is given twice'],
    ['s3://calls?region=a.b', 'region is not the name of a region'],
    ['s3://calls?endpoint=minio:9000', 'endpoint is not an address such as https://storage.example.com'],
    ['s3://calls?endpoint=https://x/path', 'endpoint is not an address such as https://storage.example.com'],
    ['s3://calls?path_style=yes', 'path_style is neither 0 nor 1'],
    ['s3://calls?sse=aes', 'sse is neither AES256 nor aws:kms'],
    ['s3://calls?sse=AES256&kms_key=k', 'kms_key needs sse=aws:kms'],
  ])('is refused: %s', (text, fault) => {
    const { error } = fileLocationSchema.safeParse(text);
    expect(error?.issues[0]?.message).toBe(
      `Input should be an address such as s3://bucket/prefix?region=eu-central-1: ${fault}`,
    );
  });

  it('comes with the access key of the environment', async () => {
    const env = {
      HOME: '/home/x',
      PARLEY_FILES: 's3://calls',
      AWS_ACCESS_KEY_ID: 'AK',
      AWS_SECRET_ACCESS_KEY: 'secret',
      AWS_SESSION_TOKEN: 'token',
    };
    const { settings } = await loadSettings({ env });
    expect(settings).toMatchObject({
      files: 's3://calls',
      filesAccessKeyId: 'AK',
      filesSecretAccessKey: 'secret',
      filesSessionToken: 'token',
    });
  });
});
