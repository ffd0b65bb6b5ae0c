import * as azure from 'microsoft-cognitiveservices-speech-sdk';
import { expect, it } from 'vitest';
import { AzureDouble } from '../tts/azure.ts';
import { madeSpeech } from '../tts/made-speech.ts';
import { KEY } from '../tts/speech-double.ts';

it('drives the double of Azure: an utterance with its words, and a wrong key', async () => {
  const double = await new AzureDouble().open();
  const host = new URL(double.url.replace('http', 'ws'));
  const speak = (key, words) => {
    const config = azure.SpeechConfig.fromHost(host, key);
    config.speechSynthesisOutputFormat = azure.SpeechSynthesisOutputFormat.Raw24Khz16BitMonoPcm;
    config.speechSynthesisVoiceName = 'en-US-AvaMultilingualNeural';
    const synthesizer = new azure.SpeechSynthesizer(config, null);
    synthesizer.wordBoundary = (_sender, { text, audioOffset }) => words.push([text, audioOffset / 10_000]);
    return new Promise((resolve, reject) => {
      synthesizer.speakTextAsync('A table for two.', resolve, reject);
    }).finally(() => synthesizer.close());
  };
  try {
    const words = [];
    const result = await speak(KEY, words);
    expect(result.errorDetails).toBeUndefined();
    expect(Buffer.from(result.audioData)).toEqual(madeSpeech('A table for two.', 24_000).bytes);
    expect(words.map(([text]) => text)).toEqual(['A', 'table', 'for', 'two']);
    expect(words.map(([, atMs]) => atMs)).toEqual(
      madeSpeech('A table for two.', 24_000).words.map((word) => word.startMs),
    );
    const refused = await speak('wrong', []);
    expect(refused.errorDetails).toMatch(/401|Authentication|authentication|1006/);
    expect(double.violations).toEqual([]);
  } finally {
    await double.close();
  }
});
