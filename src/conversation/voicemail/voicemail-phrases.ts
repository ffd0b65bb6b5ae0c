import { baseLanguage } from '../../base/language.js';
import { wordsOf } from '../language/words.js';

/**
 * What machines say when they answer a call. `machine`: a mailbox; `full`: one that takes no message; `screening`: a
 * call screener that asks who is calling; `wait`: it puts the call through.
 */
export type MachinePhrase = 'machine' | 'full' | 'screening' | 'wait';

interface MachineWords extends Readonly<Record<MachinePhrase, RegExp>> {
  /**
   * Said by machines and sometimes by people, or short enough to be misheard: two of these, or one and a `hint`,
   * identify a machine, unless it also asks (`asks`).
   */
  signs: readonly RegExp[];
  /** Said by many machines, and by people who answer for others. */
  hint: RegExp;
  /** The greeting announces a beep. */
  tone: RegExp;
  /** A phone menu, to which the agent talks. */
  menu: RegExp;
  /** Precedes a menu; people say it, too, and then ask something. */
  welcome: RegExp;
  /** Questions of people who answer; nothing that records asks them. */
  asks: RegExp;
}

/** Patterns over lower-case words with single spaces, without punctuation but with apostrophes. */
const ENGLISH: MachineWords = {
  machine: new RegExp(
    [
      // A person offers to take a message ("would you like to leave a message?").
      /(?<!(?:like|want|wish|care|prefer) to )\b(?:leave|record) (?:me |us |him |her )?(?:a |an |your |the )?(?:(?:brief|short|detailed|quick|clear|voice|name) (?:and )?)*(?:message|name|number|details)\b/,
      /\b(?:i|we|i'm|i am|we're|we are) (?:[a-z]+ )?(?:can't|cannot|can not|couldn't|unable to|not able to|not available to|unavailable to) (?:take|answer|come to|get to|pick up|reach) (?:your |the |my )?(?:call|phone)\b/,
      /\b(?:person|party|customer|subscriber|number|user|mobile|wireless customer) (?:you|that you|you've|you have|you are|you're)[a-z' ]{0,40}\b(?:not available|unavailable|not answering)\b/,
      /\b(?:nobody|no one)(?: is| are)? available (?:to )?(?:take|answer) (?:your |the )?call\b/,
      /\b(?:i am|i'm|we are|we're) (?:(?:currently|presently) (?:not available|unavailable)|(?:not available|unavailable) (?:right now|now|currently|at (?:the|this) (?:moment|time)))\b/,
      /(?<!\b(?:my|your|his|her|their) )\bmailbox\b/,
      /\bto leave (?:a |your )?message press\b/,
      /\byour call (?:has been|is being) forwarded to\b/,
      /\byour call (?:has been|is being) transferred to (?:an? )?(?:auto|voice)/,
    ]
      .map(({ source }) => source)
      .join('|'),
  ),
  signs: [
    // A person says "I got your voicemail".
    /(?<!\byour )\b(?:voice ?mail|answering (?:machine|service)|voice messag(?:e|ing) (?:system|service))\b/,
    /\b(?:after|at|following|until) the (?:tone|beep|signal)\b/,
    // Someone who says that a third person cannot come to the phone is a person.
    /(?<!\b(?:he|she|they) )\b(?:can't|cannot|can not|couldn't|unable to|not able to|available to|unavailable to) (?:take|answer|come to|get to|pick up|reach) (?:your |the |my )?(?:call|phone)\b/,
    /(?<!\b(?:he|she|they)(?: will|'ll) )(?<!\b(?:him|her|them) )\b(?:get back to you|call you (?:right )?back|return your call)\b|\bmissed your call\b/,
    /\baway from (?:my|the) (?:phone|desk)\b/,
    /\bleave (?:me|us|your)\b/,
  ],
  full: /\b(?:mailbox|mail box|memory|voicemail) (?:is|that you have reached is|belonging to [a-z ]{1,40} is)? ?(?:currently |now )?full\b|\b(?:cannot|can't|can not|not) (?:(?:accept|accepting|take|taking|record) (?:any )?|any )(?:new |more |any |further )*messages\b|\b(?:mailbox|voicemail|voice mailbox)[a-z' ]{0,30} (?:not been set up|hasn't been set up|not set up|not been initialized)\b/,
  // A call screener does not ask for a message or promise to call back.
  screening: new RegExp(
    `^(?!.*\\b(?:leave|message|call you back|get back to you|return your call)\\b).*(?:${[
      /\b(?:state|say|record|give|tell me) your (?:full )?name\b(?!.*\bnumber\b)/,
      /\b(?:why you're calling|why you are calling|(?:the )?reason (?:for your call|for calling|you're calling|you are calling))\b/,
      /\bscreening service\b/,
      /\bcalls? (?:is|are) being screened\b/,
      /\bwill (?:get|receive) a (?:copy|transcript) of this (?:conversation|call)\b/,
      /\bcall assist(?:ant)?\b.*\b(?:name|calling)\b/,
      /\bsee if (?:this|the) person is available\b/,
    ]
      .map(({ source }) => source)
      .join('|')})`,
  ),
  wait: /\b(?:stay on the line|hold the line|please hold|hold on|one moment|please wait|connecting (?:you|your call)|i'll see if|try(?:ing)? to (?:connect|reach))\b/,
  hint: /\b(?:you've|you have) reached\b|\b(?:isn't|is not|not) (?:available|here|in|home)\b|\bunavailable\b|\b(?:nobody|no one) (?:is )?(?:available|here|in|home)\b|\bout of (?:the )?office\b|\b(?:office|business|opening) hours\b|\bplease (?:call|try) (?:again|back)\b|\b(?:this|the) (?:customer|subscriber)\b|\bthis call (?:may be|is) recorded\b/,
  tone: /\b(?:tone|beep|signal)\b/,
  menu: /\b(?:press|dial|enter|say) (?:\d|zero|one|two|three|four|five|six|seven|eight|nine|star|pound|hash|yes)\b|\bmain menu\b|\b(?:dial|enter) (?:it|your|the) (?:now|extension|number|account)\b/,
  welcome:
    /\b(?:thank you|thanks) for calling\b|\bwelcome to\b|\bthis call (?:may be|is|will be) (?:recorded|monitored)\b|\bmenu (?:options )?ha(?:ve|s) (?:recently )?changed\b|\blisten (?:carefully )?to the following\b/,
  asks: /\b(?:how|what) (?:can|may) (?:i|we) (?:help|do|direct|assist|be of)\b|\b(?:can|may) (?:i|we) (?:help|assist) you\b|\b(?:can|may|could|shall) (?:i|we) (?:take|have) (?:a|your)\b|\bwho(?:'s| is| am i) (?:this|there|calling|speaking|it)\b|\bhow (?:can|may) i direct your call\b/,
};

const BY_LANGUAGE: Readonly<Record<string, MachineWords>> = {
  en: ENGLISH,
  de: {
    machine: /\bhinterlass(?:en|t)?\b.*\bnachricht\b/,
    signs: [
      /\bnach dem (?:signalton|piepton|ton|signal|piep)\b/,
      /\b(?:mailbox|anrufbeantworter|sprachbox)\b/,
      /\bnicht (?:erreichbar|zu erreichen)\b/,
      /\brufe? (?:ich )?(?:sie |dich )?(?:so bald wie möglich |baldmöglichst )?zurück\b/,
    ],
    full: /\b(?:mailbox|anrufbeantworter|speicher) ist (?:leider )?voll\b|\bkeine (?:weiteren )?nachrichten\b.*\b(?:aufnehmen|aufgenommen|aufzeichnen|hinterlassen)\b/,
    screening:
      /\b(?:nennen|sagen) sie (?:bitte )?ihren namen\b|\b(?:grund|anlass) (?:ihres|des) anrufs\b|\bwarum sie anrufen\b/,
    wait: /\b(?:bleiben sie (?:bitte )?(?:dran|am apparat|in der leitung)|einen (?:moment|augenblick)|bitte warten|verbinde)\b/,
    hint: /\b(?:ist|sind|bin) (?:gerade |derzeit |leider |zur zeit )*nicht (?:da|zu hause|im büro|verfügbar)\b|\bsie haben\b.*\b(?:erreicht|gewählt)\b|\baußerhalb (?:unserer|der)\b/,
    tone: /(?:ton|piep|signal)\b/,
    menu: /\bdrücken sie\b|\bwählen sie die\b/,
    welcome: /\bwillkommen bei\b|\b(?:danke|dank) für (?:ihren|den) anruf\b|\bgespräch\b.*\baufgezeichnet\b/,
    asks: /\b(?:wie|womit) (?:kann|darf) ich (?:ihnen |dir )?(?:helfen|behilflich)\b|\bwas kann ich für (?:sie|dich)\b|\bwer (?:ist|spricht) (?:da|dort|denn)\b/,
  },
  fr: {
    machine:
      /\b(?:laissez|laisser)(?:-moi|-nous)? (?:un |votre |vos )?(?:message|nom|coordonnées)\b|\b(?:correspondant|abonné|personne)\b.*\bn'est pas disponible\b/,
    signs: [
      /\baprès le (?:bip|signal|signal sonore|ton)\b/,
      /\b(?:messagerie|boîte vocale|répondeur)\b/,
      /\b(?:n'est|ne suis|ne sommes|n'êtes) pas (?:disponible|joignable)s?\b/,
      /\b(?:vous|je) (?:rappel(?:le|lerai|lerons))\b/,
    ],
    full: /\b(?:messagerie|boîte vocale|répondeur)\b.*\b(?:est )?(?:pleine|plein|saturée)\b|\bne peut (?:plus )?(?:recevoir|enregistrer)\b.*\bmessages?\b/,
    screening:
      /\b(?:dites|indiquez|donnez|enregistrez) votre nom\b(?!.*\bmessage\b)|\b(?:motif|raison|objet) de votre appel\b|\bpourquoi vous appelez\b/,
    wait: /\b(?:restez en ligne|ne quittez pas|veuillez patienter|un instant)\b/,
    hint: /\bvous êtes (?:bien )?(?:sur|chez|en communication)\b|\babsente?s?\b|\bhoraires d'ouverture\b/,
    tone: /\b(?:bip|signal|ton)\b/,
    menu: /\b(?:tapez|appuyez sur|composez|faites le)\b/,
    welcome: /\bbienvenue (?:chez|à|au|sur)\b|\bmerci de votre appel\b|\bconversation\b.*\benregistrée\b/,
    asks: /\b(?:comment|en quoi) puis-je vous\b|\bque puis-je faire\b|\bqui est à l'appareil\b/,
  },
  es: {
    machine:
      /\b(?:deje|deja|dejar|dejad|grabe|graba)(?:me|nos)? (?:un |su |tu |el )?(?:breve )?(?:mensaje|nombre|recado)\b|\bno (?:puedo|podemos|puede) (?:atender|contestar)\b/,
    signs: [
      /\bdespués (?:de la|del) (?:señal|tono|pitido)\b/,
      /\b(?:buzón de voz|contestador|buzón)\b/,
      /\bno (?:está|estoy|estamos|se encuentra) disponibles?\b/,
      /\b(?:le|te) (?:llamaré|llamaremos|devolveré|devolveremos)\b/,
    ],
    full: /\bbuzón\b.*\blleno\b|\bno (?:puede|se pueden) (?:recibir|grabar|dejar)\b.*\bmensajes\b/,
    screening:
      /\b(?:diga|indique|grabe) su nombre\b(?!.*\bmensaje\b)|\b(?:motivo|razón) de (?:su|la) llamada\b|\bpor qué llama\b/,
    wait: /\b(?:permanezca en (?:la )?línea|no cuelgue|espere|un momento)\b/,
    hint: /\bha (?:llamado|contactado)\b|\bno (?:está|estoy|estamos) (?:en casa|aquí)\b|\bhorario de\b/,
    tone: /\b(?:señal|tono|pitido)\b/,
    menu: /\b(?:pulse|marque|oprima|presione)\b/,
    welcome: /\bbienvenidos? a\b|\bgracias por (?:llamar|su llamada)\b|\bllamada\b.*\bgrabada\b/,
    asks: /\ben qué (?:puedo|podemos|le puedo) (?:ayudar|servir)\w*|\bquién (?:habla|es|llama)\b/,
  },
  pt: {
    machine:
      /\b(?:deixe|deixar|grave) (?:a sua |sua |uma |o seu |seu )?(?:mensagem|recado|nome)\b|\bnão (?:posso|podemos|pode) atender\b/,
    signs: [
      /\b(?:após|depois d)(?:o| o)? (?:sinal|bip|tom|bipe)\b/,
      /\b(?:caixa postal|correio de voz|caixa de correio|secretária eletrônica|voice mail)\b/,
      /\bnão (?:está|estou|estamos|se encontra) disponíve(?:l|is)\b/,
    ],
    full: /\bcaixa\b.*\bcheia\b|\bnão pode receber\b.*\bmensagens\b/,
    screening:
      /\b(?:diga|grave|informe) (?:o )?seu nome\b(?!.*\bmensagem\b)|\bmotivo da (?:sua )?(?:chamada|ligação)\b|\bpor que est[áa] ligando\b/,
    wait: /\b(?:aguarde|permaneça na linha|não desligue|um momento)\b/,
    hint: /\bvocê ligou para\b|\bligou para\b|\bnão (?:está|estou|estamos) (?:em casa|aqui)\b/,
    tone: /\b(?:sinal|bip|bipe|tom)\b/,
    menu: /\b(?:tecle|pressione|digite|prima)\b/,
    welcome: /\bbem-vindo\b|\bbem vindo\b|\bobrigado por (?:ligar|sua ligação)\b|\b(?:chamada|ligação)\b.*\bgravada\b/,
    asks: /\bem que (?:posso|podemos) ajudar|\bquem (?:fala|é|está falando)(?=\s|$)/,
  },
  it: {
    machine:
      /\b(?:lasci|lasciate|lasciare|lascia) (?:un |il vostro |il suo |il tuo )?(?:breve )?(?:messaggio|nome)\b|\b(?:cliente|utente|numero|persona)\b.*\bnon (?:è|sono) (?:al momento )?disponibil[ei]\b/,
    signs: [
      /\bdopo il (?:segnale|bip|tono)\b/,
      /\b(?:segreteria telefonica|casella vocale|segreteria)\b/,
      /\bnon (?:è|sono|siamo) (?:al momento )?(?:raggiungibil[ei]|disponibil[ei])\b/,
      /\b(?:la|vi|ti) (?:richiamerò|richiameremo)\b/,
    ],
    full: /\b(?:casella|segreteria)\b.*\bpiena\b|\bnon può ricevere\b.*\bmessaggi\b/,
    screening:
      /\b(?:dica|dite|registri) il (?:suo|vostro) nome\b(?!.*\bmessaggio\b)|\bmotivo della (?:sua )?chiamata\b|\bperché (?:sta chiamando|chiama)\b/,
    wait: /\b(?:resti in linea|rimanga in linea|attenda|un momento)\b/,
    hint: /\b(?:ha|avete|hai) chiamato\b|\bnon (?:sono|siamo) in casa\b|\bal momento assent[ei]\b/,
    tone: /\b(?:segnale|bip|tono)\b/,
    menu: /\b(?:prema|premere|digiti|digitare)\b/,
    welcome:
      /\bbenvenut[oi] (?:in|a|al|alla|da)\b|\bgrazie per (?:aver chiamato|la chiamata)\b|\bchiamata\b.*\bregistrata\b/,
    asks: /\b(?:come|in cosa) (?:posso|possiamo) (?:aiutar|esser)\w*|\bchi parla\b/,
  },
  nl: {
    machine: /\b(?:spreek|laat)\b.*\b(?:bericht|boodschap|naam)\b/,
    signs: [
      /\bna de (?:piep|toon|pieptoon)\b/,
      /\b(?:voicemail|antwoordapparaat)\b/,
      /\bniet bereikbaar\b/,
      /\b(?:bel|bellen) (?:ik |wij |we )?(?:u|je) (?:zo snel mogelijk )?terug\b/,
    ],
    full: /\b(?:voicemail|mailbox)\b.*\bvol\b|\bgeen (?:nieuwe )?berichten\b.*\b(?:opnemen|achterlaten|inspreken)\b/,
    screening:
      /\b(?:zeg|noem|vermeld) uw naam\b(?!.*\bbericht\b)|\breden van uw (?:oproep|telefoontje|gesprek)\b|\bwaarom u belt\b/,
    wait: /\b(?:blijf aan de lijn|een moment|even geduld|ik verbind)\b/,
    hint: /\bu (?:bent|spreekt) (?:verbonden )?met de\b|\b(?:ben|is|zijn) (?:er )?(?:nu )?niet (?:thuis|aanwezig)\b/,
    tone: /(?:piep|toon)\b/,
    menu: /\b(?:toets|druk op|kies)\b/,
    welcome: /\bwelkom bij\b|\bbedankt voor het bellen\b|\bgesprek\b.*\bopgenomen\b/,
    asks: /\bwaarmee kan ik\b|\bmet wie spreek ik\b|\bwie is daar\b/,
  },
  hi: {
    machine: /संदेश (?:छोड़|रिकॉर्ड)|मैसेज छोड़/,
    signs: [/बीप के बाद|टोन के बाद/, /वॉइस ?मेल/, /उपलब्ध नहीं/, /उत्तर नहीं दे/],
    full: /मेलबॉक्स भर|संदेश नहीं (?:छोड़|ले)/,
    screening: /अपना नाम (?:बताएं|बताएँ|बोलें|कहें)|कॉल करने का कारण|क्यों कॉल कर/,
    wait: /लाइन पर बने रह|प्रतीक्षा करें|होल्ड करें/,
    hint: /आपने .* (?:डायल|कॉल) किया|व्यस्त है/,
    tone: /बीप|टोन/,
    menu: /दबाएं|दबाएँ/,
    welcome: /में आपका स्वागत|कॉल करने के लिए धन्यवाद/,
    asks: /कैसे (?:मदद|सहायता)|कौन बोल/,
  },
  ja: {
    machine: /メッセージを(?:お|残|録|どうぞ)|電話に出(?:られ|ることが)/,
    signs: [/(?:ピー|発信音|合図|信号音)(?:という音)?の(?:あと|後)/, /留守番|留守電|ただいま(?:留守|外出)/],
    full: /(?:メッセージ|録音)が(?:いっぱい|一杯)|これ以上(?:メッセージ|録音)/,
    screening: /お名前(?:と|を).*(?:ご用件|お願い|おっしゃ|お話し)(?!.*メッセージ)|ご用件をおっしゃって/,
    wait: /お待ちください|お繋ぎ|おつなぎ/,
    hint: /営業時間|本日は.*終了/,
    tone: /ピー|発信音|信号音/,
    menu: /番.*押して|ボタンを押/,
    welcome: /お電話ありがとうございます|録音させて/,
    asks: /ご用件を(?:伺|お伺|うかが)|どちら様|どのようなご用件/,
  },
  zh: {
    machine: /请.{0,12}留言|无法接听|暂时不能接听/,
    signs: [/留言/, /语音信箱/, /(?:嘀|哔|滴|提示音)(?:的一声|声)?(?:之?后|以后)/],
    full: /信箱(?:已|已经)?满|无法留言/,
    screening: /(?:请说|请说出|请报|请告知).{0,4}(?:姓名|名字)(?!.*留言)|来电(?:原因|目的|事由)/,
    wait: /请稍等|请稍候|不要挂|正在为您(?:转接|接通)/,
    hint: /您拨打的|您所拨打|营业时间/,
    tone: /嘀|哔|滴|提示音/,
    menu: /请按|按\d|按[一二三四五六七八九零]/,
    welcome: /欢迎致电|感谢(?:您)?(?:的)?来电|通话将被录音/,
    asks: /有什么(?:可以|能)?(?:帮|为您)|请问(?:您)?(?:是)?(?:哪位|谁)/,
  },
};

const CLASSES = ['full', 'screening', 'machine'] as const;

/** The machine's phrase in the callee's words, null = none. English always counts: networks use it everywhere. */
export function machinePhraseOf(text: string, language: string, own: readonly string[]): MachinePhrase | null {
  const said = plain(text);
  const lists = wordsFor(language);
  for (const name of CLASSES) if (lists.some((words) => words[name].test(said))) return name;
  if (lists.some((words) => signsOf(words, said) >= 2) && !asksCaller(text, language)) return 'machine';
  return own.some((phrase) => holds(said, plain(phrase))) ? 'machine' : null;
}

/** Whether a call screener says that it puts the call through. */
export function asksToWait(text: string, language: string): boolean {
  const said = plain(text);
  return wordsFor(language).some(({ wait }) => wait.test(said));
}

/** Whether machines use these words more than people do. */
export function hintsAtMachine(text: string, language: string): boolean {
  const said = plain(text);
  return wordsFor(language).some((words) => signsOf(words, said) > 0);
}

export function isMenu(text: string, language: string): boolean {
  const said = plain(text);
  return wordsFor(language).some(({ menu }) => menu.test(said));
}

/** Whether a phone menu may follow. */
export function announcesMenu(text: string, language: string): boolean {
  const said = plain(text);
  return wordsFor(language).some(({ welcome }) => welcome.test(said));
}

/** Whether the text asks the caller something that people ask who answer a call. */
export function asksCaller(text: string, language: string): boolean {
  const said = plain(text);
  return wordsFor(language).some(({ asks }) => asks.test(said));
}

/** Whether a greeting announces a beep. */
export function announcesTone(text: string, language: string): boolean {
  const said = plain(text);
  return wordsFor(language).some(({ tone }) => tone.test(said));
}

function signsOf({ signs, hint }: MachineWords, said: string): number {
  return [hint, ...signs].filter((sign) => sign.test(said)).length;
}

function wordsFor(language: string): readonly MachineWords[] {
  const base = baseLanguage(language);
  const own = Object.hasOwn(BY_LANGUAGE, base) ? BY_LANGUAGE[base] : undefined;
  return own === undefined || own === ENGLISH ? [ENGLISH] : [own, ENGLISH];
}

function plain(text: string): string {
  return wordsOf(text).join(' ');
}

/** Whole words only, unless the phrase is in a script without spaces. */
function holds(said: string, phrase: string): boolean {
  if (phrase === '') return false;
  if (/[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}]/u.test(phrase)) {
    return said.replaceAll(' ', '').includes(phrase.replaceAll(' ', ''));
  }
  return ` ${said} `.includes(` ${phrase} `);
}
