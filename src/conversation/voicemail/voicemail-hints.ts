import { baseLanguage } from '../../base/language.js';
import { ANNOUNCEMENTS } from './announcements.js';

/**
 * What machines say when they answer a call, and what people ask, as hints for the recogniser; see `voicemail-phrases`.
 */

const ENGLISH: readonly string[] = [
  'please leave a message after the tone',
  'leave your name and number after the beep',
  'at the tone please record your message',
  'your call has been forwarded to an automatic voice message system',
  'you have reached the voicemail of',
  'I cannot take your call right now',
  'the person you are calling is not available',
  'I will get back to you as soon as I can',
  'sorry we missed your call',
  'I am not available at the moment',
  'I am away from my desk',
  'the mailbox is full',
  'the mailbox cannot accept any messages at this time',
  'please state your name and why you are calling',
  'record your name and the reason for your call',
  'the person you are calling is using a screening service and will get a copy of this conversation',
  'go ahead and say your name and why you are calling',
  'this is the call assistant who is calling please and what is it about',
  'please state your name and the reason for your call',
  'thank you please stay on the line',
  'if you record your name and reason for calling I will see if this person is available',
  'thank you for calling',
  'welcome to',
  'if you know your extension please enter it now',
  'for opening hours press one',
  'please listen to the following options',
  'this call may be recorded',
  'for this press one',
  'press two for that',
  'to hear this again press nine',
  'to speak to a person press zero',
  'hello who is this please',
  'who is calling please',
  'how can I help you',
  'how may I help you today',
  'what can I do for you',
  'how may I direct your call',
  ...ANNOUNCEMENTS,
];

const BY_LANGUAGE: Readonly<Record<string, readonly string[]>> = {
  de: [
    'bitte hinterlassen Sie eine Nachricht nach dem Signalton',
    'Sie sind verbunden mit der Mailbox von',
    'der Teilnehmer ist zur Zeit nicht erreichbar',
    'ich rufe so bald wie möglich zurück',
    'die Mailbox ist voll',
    'bitte nennen Sie Ihren Namen und den Grund Ihres Anrufs',
  ],
  fr: [
    'laissez un message après le bip',
    'vous êtes bien sur la messagerie de',
    "votre correspondant n'est pas disponible",
    'je vous rappellerai dès que possible',
    'la messagerie est pleine',
    'dites votre nom et le motif de votre appel',
  ],
  es: [
    'deje su mensaje después de la señal',
    'este es el buzón de voz de',
    'en este momento no podemos atender su llamada',
    'le llamaremos lo antes posible',
    'el buzón está lleno',
    'diga su nombre y el motivo de su llamada',
  ],
  pt: [
    'deixe a sua mensagem após o sinal',
    'esta é a caixa postal de',
    'no momento não posso atender',
    'a caixa de mensagens está cheia',
    'diga o seu nome e o motivo da ligação',
  ],
  it: [
    'lasci un messaggio dopo il segnale acustico',
    'risponde la segreteria telefonica di',
    'il cliente da lei chiamato non è al momento raggiungibile',
    'la casella è piena',
    'dica il suo nome e il motivo della chiamata',
  ],
  nl: [
    'spreek een bericht in na de piep',
    'dit is de voicemail van',
    'ik ben momenteel niet bereikbaar',
    'de voicemail is vol',
    'zeg uw naam en de reden van uw oproep',
  ],
  hi: ['बीप के बाद अपना संदेश छोड़ें', 'यह व्यक्ति अभी उपलब्ध नहीं है', 'मेलबॉक्स भर गया है', 'कृपया अपना नाम बताएं'],
  ja: [
    '発信音のあとにメッセージをどうぞ',
    'ただいま電話に出ることができません',
    '留守番電話サービスに接続します',
    'お名前とご用件をお願いします',
  ],
  zh: ['请在提示音后留言', '您拨打的用户暂时无法接通', '语音信箱已满', '请说出您的姓名'],
};

/** Sentences of machines in a language, and in English, which networks use everywhere. */
export function machineSentences(language: string): readonly string[] {
  const base = baseLanguage(language);
  return [...(Object.hasOwn(BY_LANGUAGE, base) ? (BY_LANGUAGE[base] ?? []) : []), ...ENGLISH];
}

export const HINTED_LANGUAGES = ['en', ...Object.keys(BY_LANGUAGE)] as const;
