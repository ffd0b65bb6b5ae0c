import { baseLanguage } from '../../base/language.js';

/** What callers hear in a queue. `{wait}` is `minute` or `minutes`. */
export interface QueuePhrases {
  greeting: string;
  position: string;
  wait: string;
  minute: string;
  /** `{minutes}` is two or more. */
  minutes: string;
  offer: string;
  /** `{number}` is read digit by digit. */
  confirm: string;
  enter: string;
  wrong: string;
  promised: string;
  refused: string;
  full: string;
  closed: string;
  leaveMessage: string;
}

const ENGLISH: QueuePhrases = {
  greeting: 'Thank you for calling. All lines are busy, and we will answer your call as soon as possible.',
  position: 'You are number {position} in the queue.',
  wait: 'The estimated wait is {wait}.',
  minute: 'about one minute',
  minutes: 'about {minutes} minutes',
  offer: 'To be called back instead, press {key}.',
  confirm: 'We call you back at {number}. To confirm, press 1. For another number, press 2. To keep waiting, press 3.',
  enter: 'Please enter the number with its area code, and then press the pound key.',
  wrong: 'This number cannot be called.',
  promised: 'Thank you. We will call you back. Goodbye.',
  refused: 'We cannot call you back. Please stay on the line.',
  full: 'We cannot answer your call now. Please call again later. Goodbye.',
  closed: 'We are closed now. Please call again later. Goodbye.',
  leaveMessage: 'Please leave a message after the tone, and hang up when you have finished.',
};

const BY_LANGUAGE: Readonly<Record<string, QueuePhrases>> = {
  en: ENGLISH,
  de: {
    greeting: 'Danke für Ihren Anruf. Alle Leitungen sind belegt, wir nehmen Ihren Anruf so bald wie möglich an.',
    position: 'Sie sind auf Platz {position} der Warteschlange.',
    wait: 'Die geschätzte Wartezeit beträgt {wait}.',
    minute: 'etwa eine Minute',
    minutes: 'etwa {minutes} Minuten',
    offer: 'Wenn Sie lieber zurückgerufen werden möchten, drücken Sie die {key}.',
    confirm:
      'Wir rufen Sie unter {number} zurück. Zum Bestätigen drücken Sie die 1, für eine andere Nummer die 2, um zu warten die 3.',
    enter: 'Bitte geben Sie die Nummer mit Vorwahl ein, und drücken Sie dann die Raute.',
    wrong: 'Diese Nummer können wir nicht anrufen.',
    promised: 'Danke. Wir rufen Sie zurück. Auf Wiederhören.',
    refused: 'Wir können Sie nicht zurückrufen. Bitte bleiben Sie in der Leitung.',
    full: 'Wir können Ihren Anruf jetzt nicht annehmen. Bitte rufen Sie später noch einmal an. Auf Wiederhören.',
    closed: 'Wir haben jetzt geschlossen. Bitte rufen Sie später noch einmal an. Auf Wiederhören.',
    leaveMessage: 'Bitte hinterlassen Sie nach dem Ton eine Nachricht, und legen Sie dann auf.',
  },
  fr: {
    greeting: 'Merci de votre appel. Toutes nos lignes sont occupées, nous répondrons à votre appel dès que possible.',
    position: 'Vous êtes en position {position} dans la file.',
    wait: "Le temps d'attente estimé est {wait}.",
    minute: "d'environ une minute",
    minutes: "d'environ {minutes} minutes",
    offer: 'Pour être rappelé, appuyez sur la touche {key}.',
    confirm:
      'Nous vous rappellerons au {number}. Pour confirmer, appuyez sur 1. Pour un autre numéro, sur 2. Pour attendre, sur 3.',
    enter: 'Composez le numéro avec son indicatif, puis appuyez sur dièse.',
    wrong: 'Ce numéro ne peut pas être appelé.',
    promised: 'Merci. Nous vous rappellerons. Au revoir.',
    refused: 'Nous ne pouvons pas vous rappeler. Veuillez rester en ligne.',
    full: 'Nous ne pouvons pas répondre maintenant. Veuillez rappeler plus tard. Au revoir.',
    closed: 'Nous sommes fermés. Veuillez rappeler plus tard. Au revoir.',
    leaveMessage: 'Veuillez laisser un message après le bip, puis raccrochez.',
  },
  es: {
    greeting: 'Gracias por llamar. Todas las líneas están ocupadas, le atenderemos lo antes posible.',
    position: 'Su posición en la cola es {position}.',
    wait: 'La espera estimada es de {wait}.',
    minute: 'un minuto aproximadamente',
    minutes: '{minutes} minutos aproximadamente',
    offer: 'Si prefiere que le llamemos, pulse {key}.',
    confirm: 'Le llamaremos al {number}. Para confirmar, pulse 1. Para otro número, pulse 2. Para esperar, pulse 3.',
    enter: 'Introduzca el número con prefijo y pulse almohadilla.',
    wrong: 'No podemos llamar a ese número.',
    promised: 'Gracias. Le llamaremos. Adiós.',
    refused: 'No podemos devolverle la llamada. Por favor, siga a la espera.',
    full: 'Ahora no podemos atenderle. Por favor, llame más tarde. Adiós.',
    closed: 'Ahora está cerrado. Por favor, llame más tarde. Adiós.',
    leaveMessage: 'Deje su mensaje después de la señal y cuelgue al terminar.',
  },
  it: {
    greeting: 'Grazie per averci chiamato. Tutte le linee sono occupate, risponderemo appena possibile.',
    position: 'Lei è in posizione {position} nella coda.',
    wait: "L'attesa stimata è di {wait}.",
    minute: 'circa un minuto',
    minutes: 'circa {minutes} minuti',
    offer: 'Per essere richiamato, prema {key}.',
    confirm: 'La richiameremo al {number}. Per confermare prema 1, per un altro numero prema 2, per attendere prema 3.',
    enter: 'Inserisca il numero con il prefisso e prema cancelletto.',
    wrong: 'Non possiamo chiamare questo numero.',
    promised: 'Grazie. La richiameremo. Arrivederci.',
    refused: 'Non possiamo richiamarla. Resti in linea, per favore.',
    full: 'Ora non possiamo rispondere. Richiami più tardi, per favore. Arrivederci.',
    closed: 'Ora siamo chiusi. Richiami più tardi, per favore. Arrivederci.',
    leaveMessage: 'Lasci un messaggio dopo il segnale, poi riagganci.',
  },
  pt: {
    greeting: 'Obrigado pela sua chamada. Todas as linhas estão ocupadas, atenderemos assim que possível.',
    position: 'A sua posição na fila é {position}.',
    wait: 'A espera estimada é de {wait}.',
    minute: 'cerca de um minuto',
    minutes: 'cerca de {minutes} minutos',
    offer: 'Se preferir que lhe liguemos, prima {key}.',
    confirm: 'Ligaremos para {number}. Para confirmar, prima 1. Para outro número, prima 2. Para esperar, prima 3.',
    enter: 'Introduza o número com o indicativo e prima cardinal.',
    wrong: 'Não podemos ligar para esse número.',
    promised: 'Obrigado. Iremos ligar-lhe. Até logo.',
    refused: 'Não podemos ligar-lhe. Por favor, aguarde em linha.',
    full: 'Agora não podemos atender. Por favor, ligue mais tarde. Até logo.',
    closed: 'Agora estamos fechados. Por favor, ligue mais tarde. Até logo.',
    leaveMessage: 'Deixe a sua mensagem após o sinal e desligue no fim.',
  },
  nl: {
    greeting: 'Bedankt voor uw oproep. Alle lijnen zijn bezet, we helpen u zo snel mogelijk.',
    position: 'U bent nummer {position} in de wachtrij.',
    wait: 'De geschatte wachttijd is {wait}.',
    minute: 'ongeveer een minuut',
    minutes: 'ongeveer {minutes} minuten',
    offer: 'Wilt u liever teruggebeld worden, toets {key}.',
    confirm: 'We bellen u terug op {number}. Toets 1 om te bevestigen, 2 voor een ander nummer, 3 om te wachten.',
    enter: 'Toets het nummer met het netnummer in, en daarna een hekje.',
    wrong: 'Dit nummer kunnen we niet bellen.',
    promised: 'Dank u. We bellen u terug. Tot ziens.',
    refused: 'We kunnen u niet terugbellen. Blijf alstublieft aan de lijn.',
    full: 'We kunnen uw oproep nu niet beantwoorden. Bel later nog eens. Tot ziens.',
    closed: 'We zijn nu gesloten. Bel later nog eens. Tot ziens.',
    leaveMessage: 'Spreek na de toon een bericht in, en hang daarna op.',
  },
  hi: {
    greeting: 'कॉल करने के लिए धन्यवाद। सभी लाइनें व्यस्त हैं, हम जल्द से जल्द आपसे बात करेंगे।',
    position: 'कतार में आपका स्थान {position} है।',
    wait: 'अनुमानित प्रतीक्षा {wait} है।',
    minute: 'लगभग एक मिनट',
    minutes: 'लगभग {minutes} मिनट',
    offer: 'वापस कॉल पाने के लिए {key} दबाएँ।',
    confirm: 'हम आपको {number} पर कॉल करेंगे। पुष्टि के लिए 1, दूसरे नंबर के लिए 2, प्रतीक्षा के लिए 3 दबाएँ।',
    enter: 'कृपया क्षेत्र कोड के साथ नंबर डालें, फिर पाउंड दबाएँ।',
    wrong: 'इस नंबर पर कॉल नहीं की जा सकती।',
    promised: 'धन्यवाद। हम आपको वापस कॉल करेंगे। नमस्ते।',
    refused: 'हम आपको वापस कॉल नहीं कर सकते। कृपया लाइन पर बने रहें।',
    full: 'हम अभी आपकी कॉल नहीं ले सकते। कृपया बाद में कॉल करें। नमस्ते।',
    closed: 'हम अभी बंद हैं। कृपया बाद में कॉल करें। नमस्ते।',
    leaveMessage: 'कृपया टोन के बाद अपना संदेश छोड़ें, फिर फ़ोन रख दें।',
  },
  ja: {
    greeting: 'お電話ありがとうございます。ただいま大変混み合っております。順番におつなぎいたします。',
    position: '現在の順番は{position}番目です。',
    wait: '待ち時間の目安は{wait}です。',
    minute: '約1分',
    minutes: '約{minutes}分',
    offer: '折り返しをご希望の方は、{key}を押してください。',
    confirm: '{number}に折り返しお電話します。よろしければ1を、別の番号は2を、このままお待ちの方は3を押してください。',
    enter: '市外局番から番号を入力し、最後にシャープを押してください。',
    wrong: 'この番号にはおかけできません。',
    promised: 'ありがとうございます。折り返しお電話いたします。失礼いたします。',
    refused: '折り返しのお電話ができません。このままお待ちください。',
    full: 'ただいま電話に出ることができません。後ほどおかけ直しください。失礼いたします。',
    closed: 'ただいま営業時間外です。後ほどおかけ直しください。失礼いたします。',
    leaveMessage: '発信音の後にメッセージをお話しになり、終わりましたら電話をお切りください。',
  },
  zh: {
    greeting: '感谢您的来电。现在线路繁忙，我们会尽快接听。',
    position: '您排在第{position}位。',
    wait: '预计等待时间为{wait}。',
    minute: '约一分钟',
    minutes: '约{minutes}分钟',
    offer: '如需回电，请按{key}。',
    confirm: '我们将拨打{number}给您回电。确认请按1，更换号码请按2，继续等待请按3。',
    enter: '请输入带区号的号码，然后按井号键。',
    wrong: '无法拨打这个号码。',
    promised: '谢谢，我们会给您回电。再见。',
    refused: '我们无法给您回电，请继续等待。',
    full: '现在无法接听您的来电，请稍后再打。再见。',
    closed: '现在不在营业时间，请稍后再打。再见。',
    leaveMessage: '请在提示音后留言，说完后挂断即可。',
  },
};

/** Phrases of a language; English if there are none. */
export function queuePhrasesFor(language: string): QueuePhrases {
  const base = baseLanguage(language);
  return (Object.hasOwn(BY_LANGUAGE, base) ? BY_LANGUAGE[base] : undefined) ?? ENGLISH;
}

/** The place of a caller and what is known of the wait. */
export interface Outlook {
  position: number;
  /** Null = unknown. */
  waitMs: number | null;
}

/** Minutes, rounded up: a shorter wait than said disappoints nobody. */
export function waitText(waitMs: number, phrases: QueuePhrases): string {
  const minutes = Math.max(1, Math.ceil(waitMs / 60_000));
  return minutes === 1 ? phrases.minute : phrases.minutes.replace('{minutes}', String(minutes));
}

/** A text with its place and its wait. A sentence that needs what is unknown is left out. */
export function filledText(text: string, { position, waitMs }: Outlook, phrases: QueuePhrases): string {
  const known = waitMs === null ? withoutSentencesOf('{wait}', text) : text;
  return known
    .replaceAll('{position}', String(position))
    .replaceAll('{wait}', waitMs === null ? '' : waitText(waitMs, phrases))
    .replace(/\s+/g, ' ')
    .trim();
}

function withoutSentencesOf(name: string, text: string): string {
  const sentences = text.split(/(?<=[.!?…]\s)|(?<=[。！？।])/u);
  return sentences.filter((sentence) => !sentence.includes(name)).join('');
}
