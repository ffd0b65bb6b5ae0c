import type { VendorVoiceSettings } from '../vendor-voice.js';

const DEFAULT_VOICE = 'en-US-AvaMultilingualNeural';

/**
 * An utterance in Azure's markup. Source: learn.microsoft.com/azure/ai-services/speech-service/speech-synthesis-markup-voice.
 */
export function ssmlOf(text: string, { voiceId, language, settings }: VendorVoiceSettings): string {
  const { rate, pitch, volume, style, styledegree } = settings;
  const prosody = [
    rate === undefined ? '' : ` rate="${String(rate)}"`,
    typeof pitch === 'number' ? ` pitch="${relative(pitch)}"` : '',
    volume === undefined ? '' : ` volume="${String(volume)}"`,
  ].join('');
  const degree = styledegree === undefined ? '' : ` styledegree="${String(styledegree)}"`;
  const spoken = prosody === '' ? escaped(text) : `<prosody${prosody}>${escaped(text)}</prosody>`;
  const styled =
    style === undefined
      ? spoken
      : `<mstts:express-as style="${escaped(String(style))}"${degree}>${spoken}</mstts:express-as>`;
  return (
    '<speak version="1.0" xmlns="http://www.w3.org/2001/10/synthesis" xmlns:mstts="https://www.w3.org/2001/mstts" ' +
    `xml:lang="${language === 'multi' ? 'en-US' : language}">` +
    `<voice name="${escaped(voiceId ?? DEFAULT_VOICE)}">${styled}</voice></speak>`
  );
}

/** 1.1 is `+10%`. */
function relative(factor: number): string {
  const percent = Math.round((factor - 1) * 100);
  return `${percent < 0 ? '' : '+'}${String(percent)}%`;
}

function escaped(text: string): string {
  const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
  return text.replace(/[&<>"]/g, (character) => entities[character] ?? '');
}
