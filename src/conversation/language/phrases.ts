import { baseLanguage } from '../../base/language.js';

/** What the agent says without the model. */
export interface Phrases {
  /** The model failed to open the conversation. */
  greeting: string;
  /** Said while a stage stalls. */
  fillers: readonly string[];
  /** The model failed or said nothing. */
  fallback: string;
  /** The model keeps failing: the call ends. */
  givingUp: string;
  goodbye: string;
  /** Announces a transfer to the user. */
  connecting: string;
  /** Said to the user who waits during an attended transfer. */
  waiting: string;
  /** Said to the target of an attended transfer; `{summary}` is what the call is about. */
  briefing: string;
  mayConnect: string;
  /** Said to the target: the user has hung up meanwhile. */
  callerGone: string;
  /** Said to a call screener if the model has no answer and there is no greeting. */
  screened: string;
  stillThere: string;
  /** Used every second time, to avoid repeating the same question. */
  stillThereAgain: string;
  /** Said when a person who had taken over from the agent is suddenly gone. */
  backAgain: string;
  /** Acknowledges the request not to be called again, with a goodbye. */
  doNotCall: string;
  timeout: string;
  /** Whether a value of a step is right; `{value}` is the value, as it is read back. */
  readBack: string;
}

const ENGLISH: Phrases = {
  greeting: 'Hello, how can I help you?',
  fillers: ['Let me see.', 'One moment, please.', 'Just a second.'],
  fallback: "I'm sorry, I had trouble there. Could you say that again?",
  givingUp: "I'm sorry, something is wrong on my side. Please call again later. Goodbye.",
  goodbye: 'Goodbye.',
  connecting: "One moment, I'll connect you.",
  waiting: 'Thank you for waiting. I am still trying to reach somebody.',
  briefing: 'Hello. Somebody is on the line who would like to speak with you. {summary}',
  mayConnect: 'You can press one for yes, or two for no. Shall I put them through?',
  callerGone: 'The caller has hung up, I am sorry.',
  screened: 'This is a call for you. I would like to speak with you in person, please.',
  stillThere: 'Are you still there?',
  stillThereAgain: 'I am still here. Say something when you are ready.',
  backAgain: 'I am with you again.',
  doNotCall: 'I have noted that, and you will not be called again. Goodbye.',
  timeout: 'We have to stop here. Goodbye.',
  readBack: 'I have {value}. Is that right?',
};

const BY_LANGUAGE: Readonly<Record<string, Phrases>> = {
  en: ENGLISH,
  de: {
    greeting: 'Guten Tag, wie kann ich Ihnen helfen?',
    fillers: ['Moment bitte.', 'Ich schaue kurz nach.', 'Einen Augenblick.'],
    fallback: 'Entschuldigung, da ist etwas schiefgegangen. Können Sie das bitte wiederholen?',
    givingUp: 'Es tut mir leid, bei mir stimmt etwas nicht. Bitte rufen Sie später noch einmal an. Auf Wiederhören.',
    goodbye: 'Auf Wiederhören.',
    connecting: 'Einen Moment, ich verbinde Sie.',
    waiting: 'Danke, dass Sie warten. Ich versuche noch, jemanden zu erreichen.',
    briefing: 'Guten Tag. Jemand ist in der Leitung, der Sie sprechen möchte. {summary}',
    mayConnect: 'Sie können eins für ja oder zwei für nein drücken. Darf ich verbinden?',
    callerGone: 'Der Anrufer hat leider aufgelegt.',
    screened: 'Dies ist ein Anruf für Sie. Ich möchte bitte persönlich mit Ihnen sprechen.',
    stillThere: 'Sind Sie noch da?',
    stillThereAgain: 'Ich bin noch da. Sagen Sie etwas, wenn Sie so weit sind.',
    backAgain: 'Ich bin wieder für Sie da.',
    doNotCall: 'Ich habe das vermerkt, Sie werden nicht mehr angerufen. Auf Wiederhören.',
    timeout: 'Wir müssen hier leider enden. Auf Wiederhören.',
    readBack: 'Ich habe {value}. Ist das richtig?',
  },
  fr: {
    greeting: 'Bonjour, que puis-je faire pour vous ?',
    fillers: ['Un instant.', 'Je regarde.', 'Une seconde, je vous prie.'],
    fallback: "Excusez-moi, j'ai eu un problème. Pouvez-vous répéter ?",
    givingUp: "Je suis désolé, j'ai un problème technique. Rappelez plus tard, s'il vous plaît. Au revoir.",
    goodbye: 'Au revoir.',
    connecting: 'Un instant, je vous mets en relation.',
    waiting: "Merci de patienter. J'essaie toujours de joindre quelqu'un.",
    briefing: "Bonjour. Quelqu'un est en ligne et souhaite vous parler. {summary}",
    mayConnect: 'Vous pouvez taper un pour oui, deux pour non. Puis-je vous le passer ?',
    callerGone: 'La personne a raccroché, je suis désolé.',
    screened: "C'est un appel pour vous. J'aimerais vous parler en personne, s'il vous plaît.",
    stillThere: 'Êtes-vous toujours là ?',
    stillThereAgain: 'Je suis toujours là. Parlez quand vous voudrez.',
    backAgain: 'Je suis de nouveau avec vous.',
    doNotCall: "C'est noté, vous ne serez plus appelé. Au revoir.",
    timeout: 'Nous devons nous arrêter ici. Au revoir.',
    readBack: "J'ai noté {value}. Est-ce exact ?",
  },
  es: {
    greeting: 'Hola, ¿en qué puedo ayudarle?',
    fillers: ['Un momento.', 'Déjeme ver.', 'Un segundo, por favor.'],
    fallback: 'Perdone, he tenido un problema. ¿Puede repetirlo?',
    givingUp: 'Lo siento, tengo un problema técnico. Llame más tarde, por favor. Adiós.',
    goodbye: 'Adiós.',
    connecting: 'Un momento, le paso la llamada.',
    waiting: 'Gracias por esperar. Sigo intentando localizar a alguien.',
    briefing: 'Hola. Hay alguien en línea que quiere hablar con usted. {summary}',
    mayConnect: 'Puede pulsar uno para sí o dos para no. ¿Le paso la llamada?',
    callerGone: 'Lo siento, la persona ha colgado.',
    screened: 'Es una llamada para usted. Me gustaría hablar con usted en persona, por favor.',
    stillThere: '¿Sigue ahí?',
    stillThereAgain: 'Sigo aquí. Hable cuando quiera.',
    backAgain: 'Vuelvo a estar con usted.',
    doNotCall: 'Lo he anotado, no volveremos a llamarle. Adiós.',
    timeout: 'Tenemos que terminar aquí. Adiós.',
    readBack: 'Tengo {value}. ¿Es correcto?',
  },
  it: {
    greeting: 'Buongiorno, come posso aiutarla?',
    fillers: ['Un momento.', 'Vediamo.', 'Un attimo, per favore.'],
    fallback: 'Mi scusi, ho avuto un problema. Può ripetere?',
    givingUp: 'Mi dispiace, ho un problema tecnico. Richiami più tardi, per favore. Arrivederci.',
    goodbye: 'Arrivederci.',
    connecting: 'Un momento, la metto in contatto.',
    waiting: "Grazie per l'attesa. Sto ancora cercando di raggiungere qualcuno.",
    briefing: "Buongiorno. C'è qualcuno in linea che vorrebbe parlare con lei. {summary}",
    mayConnect: 'Può premere uno per sì o due per no. Posso passarle la chiamata?',
    callerGone: 'Mi dispiace, la persona ha riattaccato.',
    screened: 'È una chiamata per lei. Vorrei parlarle di persona, per favore.',
    stillThere: 'È ancora in linea?',
    stillThereAgain: 'Sono ancora qui. Parli pure quando vuole.',
    backAgain: 'Sono di nuovo con lei.',
    doNotCall: 'Ne ho preso nota, non sarà più chiamato. Arrivederci.',
    timeout: 'Dobbiamo fermarci qui. Arrivederci.',
    readBack: 'Ho {value}. È corretto?',
  },
  pt: {
    greeting: 'Olá, em que posso ajudar?',
    fillers: ['Um momento.', 'Deixe-me ver.', 'Só um segundo.'],
    fallback: 'Desculpe, tive um problema. Pode repetir?',
    givingUp: 'Desculpe, estou com um problema técnico. Ligue mais tarde, por favor. Adeus.',
    goodbye: 'Adeus.',
    connecting: 'Um momento, vou transferir a chamada.',
    waiting: 'Obrigado por aguardar. Ainda estou a tentar contactar alguém.',
    briefing: 'Olá. Está alguém em linha que gostaria de falar consigo. {summary}',
    mayConnect: 'Pode premir um para sim ou dois para não. Posso passar a chamada?',
    callerGone: 'Lamento, a pessoa desligou.',
    screened: 'É uma chamada para si. Gostaria de falar consigo pessoalmente, por favor.',
    stillThere: 'Ainda está aí?',
    stillThereAgain: 'Continuo aqui. Fale quando quiser.',
    backAgain: 'Estou de volta consigo.',
    doNotCall: 'Ficou registado, não voltaremos a ligar. Adeus.',
    timeout: 'Temos de terminar aqui. Adeus.',
    readBack: 'Tenho {value}. Está correto?',
  },
  nl: {
    greeting: 'Goedendag, waarmee kan ik u helpen?',
    fillers: ['Een moment.', 'Even kijken.', 'Een ogenblik, alstublieft.'],
    fallback: 'Sorry, er ging iets mis. Kunt u dat herhalen?',
    givingUp: 'Het spijt me, er is bij mij iets mis. Bel later nog eens. Tot ziens.',
    goodbye: 'Tot ziens.',
    connecting: 'Een moment, ik verbind u door.',
    waiting: 'Bedankt voor het wachten. Ik probeer nog iemand te bereiken.',
    briefing: 'Goedendag. Er is iemand aan de lijn die u wil spreken. {summary}',
    mayConnect: 'U kunt een drukken voor ja of twee voor nee. Zal ik doorverbinden?',
    callerGone: 'De beller heeft helaas opgehangen.',
    screened: 'Dit is een gesprek voor u. Ik wil u graag persoonlijk spreken.',
    stillThere: 'Bent u er nog?',
    stillThereAgain: 'Ik ben er nog. Zeg gerust iets als u zover bent.',
    backAgain: 'Ik ben weer bij u.',
    doNotCall: 'Dat is genoteerd, u wordt niet meer gebeld. Tot ziens.',
    timeout: 'We moeten hier stoppen. Tot ziens.',
    readBack: 'Ik heb {value}. Klopt dat?',
  },
  hi: {
    greeting: 'नमस्ते, मैं आपकी क्या मदद कर सकता हूँ?',
    fillers: ['एक पल।', 'मैं देखता हूँ।', 'एक मिनट रुकिए।'],
    fallback: 'माफ़ कीजिए, मुझे कुछ दिक्कत हुई। क्या आप फिर से कह सकते हैं?',
    givingUp: 'माफ़ कीजिए, मेरी तरफ़ कुछ गड़बड़ है। कृपया बाद में फिर फ़ोन कीजिए। नमस्ते।',
    goodbye: 'नमस्ते।',
    connecting: 'एक पल रुकिए, मैं आपको जोड़ता हूँ।',
    waiting: 'इंतज़ार करने के लिए धन्यवाद। मैं अब भी किसी से संपर्क करने की कोशिश कर रहा हूँ।',
    briefing: 'नमस्ते। लाइन पर कोई है जो आपसे बात करना चाहता है। {summary}',
    mayConnect: 'आप हाँ के लिए एक या नहीं के लिए दो दबा सकते हैं। क्या मैं उन्हें जोड़ दूँ?',
    callerGone: 'माफ़ कीजिए, फ़ोन करने वाले ने फ़ोन रख दिया है।',
    screened: 'यह कॉल आपके लिए है। कृपया, मैं आपसे बात करना चाहता हूँ।',
    stillThere: 'क्या आप वहाँ हैं?',
    stillThereAgain: 'मैं अभी भी यहाँ हूँ। जब चाहें, बोलिए।',
    backAgain: 'मैं फिर से आपके साथ हूँ।',
    doNotCall: 'मैंने नोट कर लिया है, आपको फिर फ़ोन नहीं किया जाएगा। नमस्ते।',
    timeout: 'हमें यहीं रुकना होगा। नमस्ते।',
    readBack: 'मैंने {value} लिखा है। क्या यह सही है?',
  },
  ja: {
    greeting: 'こんにちは。ご用件をお伺いします。',
    fillers: ['少々お待ちください。', '確認いたします。', 'えっと、そうですね。'],
    fallback: '申し訳ありません、うまくいきませんでした。もう一度お願いできますか？',
    givingUp: '申し訳ありません、こちらに問題が起きています。後ほどおかけ直しください。失礼します。',
    goodbye: '失礼いたします。',
    connecting: '少々お待ちください。おつなぎいたします。',
    waiting: 'お待たせしております。引き続き担当者に連絡しております。',
    briefing: 'こんにちは。お話ししたいという方からお電話です。{summary}',
    mayConnect: 'はいの場合は1、いいえの場合は2を押していただくこともできます。おつなぎしてよろしいですか？',
    callerGone: '申し訳ありません、お相手の方が電話を切られました。',
    screened: 'お客様へのお電話です。ご本人様とお話しさせてください。',
    stillThere: 'もしもし、聞こえていますか？',
    stillThereAgain: 'まだつながっております。ご用意ができましたら、お話しください。',
    backAgain: 'お電話を戻しました。',
    doNotCall: '承知いたしました。今後お電話はいたしません。失礼いたします。',
    timeout: 'ここで終わりにさせていただきます。失礼します。',
    readBack: '{value} でよろしいでしょうか？',
  },
  zh: {
    greeting: '您好，有什么可以帮您？',
    fillers: ['请稍等。', '我看一下。', '稍等一下。'],
    fallback: '抱歉，刚才出了点问题。您能再说一遍吗？',
    givingUp: '抱歉，我这边出了问题。请稍后再打来。再见。',
    goodbye: '再见。',
    connecting: '请稍等，我为您转接。',
    waiting: '感谢您的等待，我还在联系相关人员。',
    briefing: '您好，有一位来电者想和您通话。{summary}',
    mayConnect: '您可以按1表示可以，按2表示不可以。可以为您接通吗？',
    callerGone: '抱歉，对方已经挂断了。',
    screened: '这是打给您的电话，我想和您本人通话。',
    stillThere: '您还在吗？',
    stillThereAgain: '我还在。您准备好了就说。',
    backAgain: '我回来了。',
    doNotCall: '已经记下了，以后不会再给您打电话。再见。',
    timeout: '我们只能到这里了。再见。',
    readBack: '我记下的是 {value}，对吗？',
  },
};

/** Phrases of a language; English if there are none. */
export function phrasesFor(language: string): Phrases {
  const base = baseLanguage(language);
  return (Object.hasOwn(BY_LANGUAGE, base) ? BY_LANGUAGE[base] : undefined) ?? ENGLISH;
}
