import { cp, mkdir, mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { onnxFile } from '../../../fixtures/lib/onnx.mjs';
import { inspectModel } from '../../../src/providers/local/inspect-model.js';
import { MADE_FAMILIES, MADE_MODELS } from './made-models.js';

const folders: string[] = [];
afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true });
});

/** A folder of files: metadata makes an ONNX file, null an empty file, true a folder. */
async function folder(files: Record<string, Record<string, string> | null | true>): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'parley-model-'));
  folders.push(path);
  for (const [name, content] of Object.entries(files)) {
    if (content === true) await mkdir(join(path, name));
    else await writeFile(join(path, name), content === null ? textOf(name) : model(content));
    if (name !== 'espeak-ng-data') continue;
    for (const part of ['phontab', 'phonindex', 'phondata', 'intonations']) await writeFile(join(path, name, part), '');
  }
  return path;
}

function textOf(name: string): string {
  return name.endsWith('tokens.txt') ? '<blk> 0\n▁a 1\n' : '';
}

function model(metadata: Record<string, string>, inputs = ['a', 'b', 'c', 'd', 'e', 'f']): Buffer {
  const values = inputs.map((name) => ({ name, type: 'float' as const, shape: [1] }));
  return onnxFile({ inputs: values, outputs: [], nodes: [], metadata });
}

const STREAMING = { model_type: 'zipformer2', decode_chunk_len: '32', T: '45' };

describe('families, by the files and metadata that k2-fsa publishes them with', () => {
  it('a streaming transducer: small weights but for the decoder', async () => {
    const path = await folder({
      'encoder-epoch-99-avg-1.onnx': STREAMING,
      'encoder-epoch-99-avg-1.int8.onnx': STREAMING,
      'decoder-epoch-99-avg-1.onnx': {},
      'decoder-epoch-99-avg-1.int8.onnx': {},
      'joiner-epoch-99-avg-1.onnx': {},
      'joiner-epoch-99-avg-1.int8.onnx': {},
      'tokens.txt': null,
      test_wavs: true,
    });
    const { kind, engine, family, config, tailMs } = await inspectModel(path);
    expect({ kind, engine, family, tailMs }).toEqual({
      kind: 'stt',
      engine: 'listen',
      family: 'streaming transducer',
      tailMs: 700,
    });
    expect(config['modelConfig']).toEqual({
      transducer: {
        encoder: join(path, 'encoder-epoch-99-avg-1.int8.onnx'),
        decoder: join(path, 'decoder-epoch-99-avg-1.onnx'),
        joiner: join(path, 'joiner-epoch-99-avg-1.int8.onnx'),
      },
      tokens: join(path, 'tokens.txt'),
    });
  });

  it('a whole transducer with a vocabulary favours words; one of NeMo searches without a beam', async () => {
    const files = { 'decoder.onnx': {}, 'joiner.onnx': {}, 'tokens.txt': null };
    const icefall = await inspectModel(
      await folder({ ...files, 'encoder.onnx': { model_type: 'zipformer2' }, 'bpe.vocab': null }),
    );
    expect(icefall).toMatchObject({ engine: 'transcribe', hotwords: 'as they are' });
    expect(icefall.config).toMatchObject({ decodingMethod: 'modified_beam_search' });
    const nemo = await inspectModel(await folder({ ...files, 'encoder.int8.onnx': { pred_hidden: '640' } }));
    expect(nemo).toMatchObject({ engine: 'transcribe', hotwords: null });
    expect(nemo.config).toMatchObject({
      decodingMethod: 'greedy_search',
      modelConfig: { modelType: 'nemo_transducer' },
    });
  });

  it('the operator’s hotwords.txt is for all who listen through a streaming transducer', async () => {
    const path = await folder({
      'encoder.onnx': STREAMING,
      'decoder.onnx': {},
      'joiner.onnx': {},
      'tokens.txt': null,
      'bpe.vocab': null,
      'hotwords.txt': null,
    });
    expect((await inspectModel(path)).config).toMatchObject({
      decodingMethod: 'modified_beam_search',
      hotwordsFile: join(path, 'hotwords.txt'),
      modelConfig: { modelingUnit: 'bpe', bpeVocab: join(path, 'bpe.vocab') },
    });
  });

  it('Whisper of one language and of many', async () => {
    const files = { 'tiny-decoder.int8.onnx': {}, 'tiny-tokens.txt': null };
    const whisper = { n_text_layer: '4', is_multilingual: '1', all_language_codes: 'en,zh,de' };
    const many = await inspectModel(await folder({ ...files, 'tiny-encoder.int8.onnx': whisper }));
    expect(many).toMatchObject({ family: 'whisper', languages: ['en', 'zh', 'de'], takesLanguage: true });
    const one = await inspectModel(
      await folder({ ...files, 'tiny-encoder.int8.onnx': { ...whisper, is_multilingual: '0' } }),
    );
    expect(one).toMatchObject({ languages: ['en'], takesLanguage: false });
  });

  it('Moonshine of both kinds', async () => {
    const first = await folder({
      'preprocess.onnx': {},
      'encode.int8.onnx': {},
      'tokens.txt': null,
      'uncached_decode.int8.onnx': {},
      'cached_decode.int8.onnx': {},
    });
    expect((await inspectModel(first)).config['modelConfig']).toMatchObject({
      moonshine: {
        preprocessor: join(first, 'preprocess.onnx'),
        encoder: join(first, 'encode.int8.onnx'),
        uncachedDecoder: join(first, 'uncached_decode.int8.onnx'),
        cachedDecoder: join(first, 'cached_decode.int8.onnx'),
      },
    });
    const second = await folder({
      'encoder_model.ort': null,
      'decoder_model_merged.ort': null,
      'tokens.txt': null,
    });
    expect((await inspectModel(second)).config['modelConfig']).toMatchObject({
      moonshine: {
        encoder: join(second, 'encoder_model.ort'),
        mergedDecoder: join(second, 'decoder_model_merged.ort'),
      },
    });
  });

  it.each([
    ['sense voice', { lang_zh: '3', with_itn: '14', lfr_window_size: '7', neg_mean: '0' }, 'senseVoice', 'transcribe'],
    ['paraformer', { lfr_window_size: '7', neg_mean: '0' }, 'paraformer', 'transcribe'],
    ['zipformer', { model_type: 'zipformer2_ctc' }, 'zipformerCtc', 'transcribe'],
    ['streaming zipformer', { ...STREAMING, model_type: 'zipformer2_ctc' }, 'zipformer2Ctc', 'listen'],
    ['nemo', { model_type: 'EncDecCTCModelBPE', vocab_size: '128' }, 'nemoCtc', 'transcribe'],
    ['streaming nemo', { model_type: 'EncDecCTCModelBPE', window_size: '81' }, 'nemoCtc', 'listen'],
  ])('%s, in one file', async (family, metadata, member, engine) => {
    const path = await folder({ 'model.int8.onnx': metadata, 'model.onnx': metadata, 'tokens.txt': null });
    const found = await inspectModel(path);
    expect(found).toMatchObject({ kind: 'stt', family, engine });
    expect(found.config['modelConfig']).toHaveProperty([member, 'model'], join(path, 'model.int8.onnx'));
  });

  it('a streaming Zipformer with CTC, by the name that icefall gives it', async () => {
    const name = 'ctc-epoch-20-avg-1-chunk-16-left-128';
    const path = await folder({ [`${name}.onnx`]: STREAMING, [`${name}.int8.onnx`]: STREAMING, 'tokens.txt': null });
    const { family, config } = await inspectModel(path);
    expect(family).toBe('streaming zipformer');
    expect(config['modelConfig']).toHaveProperty('zipformer2Ctc.model', join(path, `${name}.int8.onnx`));
  });

  it('a streaming Paraformer', async () => {
    const path = await folder({
      'encoder.int8.onnx': { encoder_output_size: '512' },
      'decoder.int8.onnx': {},
      'tokens.txt': null,
    });
    expect(await inspectModel(path)).toMatchObject({ family: 'streaming paraformer', engine: 'listen' });
  });

  it('Piper, with its sounds and its rules for numbers', async () => {
    const metadata = { sample_rate: '22050', n_speakers: '1', comment: 'piper', language: 'German', voice: 'de' };
    const path = await folder({
      'de_DE-thorsten-low.onnx': metadata,
      'tokens.txt': null,
      'espeak-ng-data': true,
      'date.fst': null,
    });
    const found = await inspectModel(path);
    expect(found).toMatchObject({ kind: 'tts', family: 'vits', engine: 'speak', languages: ['de'] });
    expect(found.config).toEqual({
      maxNumSentences: 1,
      ruleFsts: join(path, 'date.fst'),
      model: {
        vits: {
          model: join(path, 'de_DE-thorsten-low.onnx'),
          tokens: join(path, 'tokens.txt'),
          dataDir: join(path, 'espeak-ng-data'),
        },
      },
    });
  });

  it('Kokoro and its speakers by name, Kitten beside it', async () => {
    const metadata = { sample_rate: '24000', n_speakers: '2', voice: 'en-us', speaker_names: 'af,af_bella' };
    const files = {
      'voices.bin': null,
      'tokens.txt': null,
      'espeak-ng-data': true as const,
      'lexicon-us-en.txt': null,
    };
    const kokoro = await inspectModel(await folder({ ...files, 'model.onnx': { ...metadata, model_type: 'kokoro' } }));
    expect(kokoro).toMatchObject({ family: 'kokoro', languages: ['en'], speakerNames: ['af', 'af_bella'] });
    expect(kokoro.config['model']).toHaveProperty('kokoro.lexicon');
    const kitten = await inspectModel(
      await folder({ ...files, 'model.fp16.onnx': { ...metadata, model_type: 'kitten-tts' } }),
    );
    const many = await folder({
      ...files,
      'model.onnx': { ...metadata, model_type: 'kokoro' },
      'lexicon-gb-en.txt': null,
      'lexicon-zh.txt': null,
    });
    const lexicons = ['lexicon-us-en.txt', 'lexicon-zh.txt'].map((name) => join(many, name)).join(',');
    expect((await inspectModel(many)).config['model']).toHaveProperty('kokoro.lexicon', lexicons);
    expect(kitten.config['model']).not.toHaveProperty('kitten.lexicon');
  });

  it('Matcha, with its vocoder beside it', async () => {
    const matcha = { model_type: 'matcha-tts', sample_rate: '22050', n_speakers: '1', language: 'English' };
    const files = { 'model-steps-3.onnx': matcha, 'tokens.txt': null, 'espeak-ng-data': true as const };
    const path = await folder({ ...files, 'vocos-22khz-univ.onnx': { model_type: 'vocos' } });
    expect((await inspectModel(path)).config['model']).toHaveProperty(
      'matcha.vocoder',
      join(path, 'vocos-22khz-univ.onnx'),
    );
    await expect(inspectModel(await folder(files))).rejects.toThrow(/its vocoder is missing/);
  });

  it('the made ones, a single file too', async () => {
    const kinds = await Promise.all(
      [
        'made-streaming',
        'made-transducer',
        'made-whisper',
        'made-voice',
        'made-denoiser/model.onnx',
        'made-turn/model.onnx',
      ].map(async (name) => (await inspectModel(join(MADE_MODELS, name))).family),
    );
    expect(kinds).toEqual(['streaming transducer', 'transducer', 'whisper', 'vits', 'gtcrn', 'smart turn']);
  });
});

describe('what cannot be used', () => {
  it.each([
    ['a decoder', { 'encoder.onnx': STREAMING, 'tokens.txt': null }, /its decoder is missing/],
    ['tokens', { 'encoder.onnx': STREAMING, 'decoder.onnx': {}, 'joiner.onnx': {} }, /its tokens.txt is missing/],
    ['everything', {}, /not a known kind of model/],
    ['what it is', { 'model.onnx': { model_type: 'bert' } }, /model.onnx takes a, b, .*, its model_type is "bert"/],
    ['a known family', { 'encoder.onnx': { model_type: 'canary' }, 'decoder.onnx': {} }, /"canary" are not used/],
    ['bytes', { 'model.onnx': null, 'tokens.txt': null }, /model.onnx: it is not an ONNX file/],
  ])('says that %s is missing', async (_what, files, message) => {
    await expect(inspectModel(await folder(files))).rejects.toThrow(message);
  });

  /** A made model, of which something is changed. */
  async function changed(name: string, change: (path: string) => Promise<unknown>): Promise<string> {
    const path = await folder({});
    await cp(join(MADE_FAMILIES, name), path, { recursive: true });
    await change(path);
    return path;
  }
  const other = (path: string, name: string, from: string) => cp(join(MADE_MODELS, from), join(path, name));
  const text = (path: string, name: string, content: string) => writeFile(join(path, name), content);

  it.each<[model: string, change: (path: string) => Promise<unknown>, message: RegExp]>([
    ['made-kokoro', () => Promise.resolve(), /its folder espeak-ng-data is missing/],
    ['made-kokoro', (path) => mkdir(join(path, 'espeak-ng-data')), /espeak-ng-data\/phontab is missing/],
    ['made-matcha', (path) => rm(join(path, 'lexicon.txt')), /its lexicon.txt is missing/],
    [
      'made-matcha',
      (path) => other(path, 'vocos.onnx', 'made-denoiser/model.onnx'),
      /vocos.onnx: it is not a known vocoder \(its model_type is "gtcrn"\)/,
    ],
    [
      'made-moonshine',
      (path) => other(path, 'encode.onnx', 'made-whisper/made-encoder.onnx'),
      /encode.onnx: it takes mel \(1 inputs\), where at least 2 are expected/,
    ],
    [
      'made-merged-moonshine',
      (path) => other(path, 'decoder_model_merged.onnx', 'made-voice/model.onnx'),
      /decoder_model_merged.onnx: it takes x, .* \(6 inputs\), where at least 7, "key_values" among them, are expected/,
    ],
    [
      'made-streaming-paraformer',
      (path) => other(path, 'decoder.onnx', 'made-streaming/decoder.onnx'),
      /decoder.onnx: it takes y \(1 inputs\), where at least 5 are expected/,
    ],
    ['made-sense-voice', (path) => text(path, 'tokens.txt', 'a 0\n'), /tokens.txt: it has 1 tokens, and the model 9/],
    ['made-paraformer', (path) => text(path, 'tokens.txt', ''), /tokens.txt: it is empty/],
    [
      'made-paraformer',
      (path) => text(path, 'tokens.txt', '\u0000\u0001x'),
      /tokens.txt: its first line is not a token/,
    ],
    ['made-paraformer', (path) => truncate(join(path, 'model.onnx'), 500), /model.onnx: it is truncated/],
  ])('names the file of %s and what is wrong with it', async (name, change, message) => {
    await expect(inspectModel(await changed(name, change))).rejects.toThrow(message);
  });

  it('names what is not there', async () => {
    await expect(inspectModel(join(tmpdir(), 'parley-no-such-model'))).rejects.toMatchObject({
      code: 'MODEL_UNUSABLE',
      details: { model: 'parley-no-such-model', reason: 'there is no such file or folder' },
    });
  });
});

it('takes the languages from where it came from, where the model does not tell', async () => {
  const path = await mkdtemp(join(tmpdir(), 'parley-model-'));
  folders.push(path);
  await cp(join(MADE_MODELS, 'made-streaming'), path, { recursive: true });
  expect((await inspectModel(path)).languages).toBeNull();
  const origin = { name: 'x', licence: 'MIT', files: [] };
  await writeFile(join(path, 'parley-model.json'), JSON.stringify({ ...origin, languages: ['fr'] }));
  expect((await inspectModel(path)).languages).toEqual(['fr']);
  await writeFile(join(path, 'parley-model.json'), '{');
  expect((await inspectModel(path)).languages).toBeNull();
});
