import { wordSet } from './words.js';

/** What the words of a language tell about the end of a turn. */
export interface TurnWords {
  /** A turn hardly ever ends with these: conjunctions, prepositions, articles, auxiliaries. */
  open: ReadonlySet<string>;
  /** These may end a turn, but often do not. */
  halfOpen: ReadonlySet<string>;
  /** Said while thinking about what comes. */
  hesitation: ReadonlySet<string>;
  /** Before what somebody has to say. */
  greeting: ReadonlySet<string>;
  refusing: ReadonlySet<string>;
  /** Alone, or a few of them together, they are a whole answer. */
  answers: ReadonlySet<string>;
  /** Last words of somebody who has finished: "please", "thanks". */
  closing: ReadonlySet<string>;
  /** A turn that begins so is a question; what comes is its end, whatever word that is. */
  asking: ReadonlySet<string>;
}

interface Lists {
  open: string;
  halfOpen?: string;
  hesitation?: string;
  answers: string;
  closing: string;
  asking?: string;
}

function turnWords(lists: Lists): TurnWords {
  const { open, halfOpen = '', hesitation = '', answers, closing, asking = '' } = lists;
  return {
    open: wordSet(open),
    halfOpen: wordSet(halfOpen),
    hesitation: wordSet(hesitation),
    greeting: wordSet(GREETINGS),
    refusing: wordSet(REFUSALS),
    answers: wordSet(answers),
    closing: wordSet(closing),
    asking: wordSet(asking),
  };
}

const GREETINGS = `hello hi hey there good morning afternoon evening hola buenos buenas días tardes noches bonjour salut bonsoir allô
  hallo guten tag morgen abend moin servus olá oi bom dia boa tarde noite alô ciao buongiorno buonasera salve pronto goedemorgen
  goedemiddag goedenavond hoi नमस्ते हैलो`;
const REFUSALS = 'no nope nein non não nee nah नहीं';

/** Languages whose words are written apart. */
export const TURN_WORDS: Readonly<Record<string, TurnWords>> = {
  en: turnWords({
    open: `and but or because 'cause if when while which who whose whether than as with without for from to of at into onto
      between until till since unless although though through during per via the a an my your our his their its i'm i'd i'll
      i've we're we'd we'll we've you're you'd you'll he's she's they're they'd they'll it's it'll that's there's here's
      where's what's who's i we he she they very really quite rather every each another either neither gonna wanna
      mr mrs ms dr next half quarter past`,
    halfOpen: `so not on in over about by just like maybe perhaps also some any that this these those is are was were am be
      been do does did have has had can could would should will may might must let's around after before
      then well actually basically more first last`,
    hesitation: 'um uh er erm uhm umm uhh hmm hm ah',
    answers: `yes yeah yep yup no nope nah sure okay ok right correct exactly absolutely definitely certainly alright great
      perfect fine good thank you hello hi hey stop cancel wait nothing none never maybe please thanks`,
    closing: `please thanks bye goodbye again instead too today tonight tomorrow`,
    asking: `what when where why who whose which how is are was were do does did can could would will should may have has
      am isn't aren't don't doesn't can't couldn't what's when's where's how's who's`,
  }),
  es: turnWords({
    open: `y e pero o u porque que si cuando mientras para por con sin de del a al en entre hasta desde sobre el la los las un
      una unos unas mi mis tu su sus nuestro nuestra muy quiero quisiera necesito soy estoy es está me se le lo yo mas aunque
      como`,
    halfOpen: 'no este esta eso así también entonces pues más otro otra hay tengo puede puedo',
    hesitation: 'eh em mmm este pues',
    answers: 'sí si no claro vale bueno bien correcto exacto perfecto ok okay gracias hola adiós nada ninguno nunca',
    closing: 'favor gracias adiós nada mañana hoy también',
    asking:
      'qué cuándo dónde cómo quién cuál cuánto cuántos cuántas cuánta puede puedo podría podría tiene tienen hay es está',
  }),
  fr: turnWords({
    open: `et mais ou parce que qui dont si quand pour avec sans de du des à au aux en dans sur par chez vers entre depuis
      jusqu'à le la les l un une mon ma mes ton votre vos notre nos son sa ses leur je j'ai c'est il elle on nous tu très
      comme voudrais veux suis est sont ce cette car donc`,
    halfOpen: 'pas plus alors puis aussi vous bien quelques autre',
    hesitation: 'euh heu hum ben bah',
    answers: 'oui ouais non si merci bonjour exact exactement parfait correct ok okay rien aucun jamais voilà',
    closing: 'plaît merci demain soir voilà',
    asking: `qui quoi quand où comment pourquoi combien quel quelle quels quelles est-ce qu'est-ce pouvez-vous avez-vous
      peut-on puis-je pourriez-vous`,
  }),
  de: turnWords({
    open: `und aber oder weil wenn dass als ob obwohl damit für mit ohne von vom zu zum zur bei beim um im ins in an am auf aus
      nach seit bis gegen über unter vor zwischen der die das den dem des ein eine einen einem einer eines mein meine meinen
      unser unsere ihr ihre sein seine ich wir sehr möchte hätte würde bräuchte will brauche heiße bin ist sind`,
    halfOpen: 'also so noch auch dann nicht mal kein keine nur schon gern gerne es er sie kann können',
    hesitation: 'äh ähm hm öhm öh',
    answers: `ja nein doch genau richtig stimmt klar gut okay ok danke hallo perfekt natürlich gerne nichts keine nie tschüss`,
    closing: 'bitte danke morgen heute wiederhören tschüss gern gerne',
    asking: `was wann wo wie warum wer wem wen welche welcher welches wieviel wieviele haben hast kann können könnte könnten
      ist sind gibt darf dürfte wird`,
  }),
  pt: turnWords({
    open: `e mas ou porque que se quando enquanto para pra por com sem de do da dos das em no na nos nas a o os as um uma uns
      umas meu minha meus minhas nosso nossa seu sua muito eu é são ao à até desde sobre como quero queria preciso sou estou
      gostaria`,
    halfOpen: 'não então também mais outro outra tem tenho pode posso há',
    hesitation: 'eh hum ãh né tipo',
    answers: `sim não claro certo exato exatamente perfeito ok okay obrigado obrigada olá oi tchau nada nenhum nunca isso`,
    closing: 'favor obrigado obrigada amanhã hoje tchau também',
    asking: 'qual quais quando onde como quem quanto quantos quantas pode posso poderia tem têm há é',
  }),
  it: turnWords({
    open: `e ed ma o oppure perché che se quando mentre per con senza di del della dei delle degli a al alla ai alle da dal
      dalla in nel nella su sul sulla tra fra fino il lo la i gli le un uno una mio mia miei mie nostro nostra suo sua molto è
      sono vorrei voglio mi ho come io`,
    halfOpen: 'non anche allora poi più ancora altro altra può posso ci',
    hesitation: 'ehm eh mmm uhm cioè',
    answers: `sì si no certo esatto giusto bene perfetto ok okay va grazie ciao pronto niente nessuno mai corretto`,
    closing: 'favore grazie domani oggi stasera ciao prego',
    asking: 'che cosa quando dove come perché chi quale quali quanto quanti quante può posso potrebbe avete è',
  }),
  nl: turnWords({
    open: `en maar of omdat als dat wanneer terwijl hoewel voor met zonder van naar bij in op om aan uit te tot over onder
      tussen sinds de het een mijn onze ons zijn haar hun ik we wij heel zeer wil wou zou graag ben is heet moet`,
    halfOpen: 'dus ook nog dan niet maar geen wel eens heb hebben kan kunnen er',
    hesitation: 'eh ehm uh uhm hm',
    answers: 'ja nee jawel klopt juist precies goed prima oké ok okay hallo dag bedankt natuurlijk niets geen nooit',
    closing: 'alstublieft alsjeblieft bedankt dank graag morgen vandaag vanavond',
    asking: 'wat wanneer waar hoe waarom wie welke hoeveel kan kunt kunnen heeft hebben is zijn mag zou',
  }),
  hi: turnWords({
    open: `और लेकिन मगर या क्योंकि अगर जब तो कि का के की को से में पर ने तक साथ मेरा मेरी मेरे हमारा हमारी आपका मैं हम वो यह एक बहुत`,
    halfOpen: 'भी ही नहीं कुछ अब फिर',
    hesitation: 'उम अं मतलब वो',
    answers: 'हाँ हां जी नहीं ठीक सही बिल्कुल अच्छा धन्यवाद नमस्ते शुक्रिया',
    closing: 'है हैं हूँ हूं था थी थे चाहिए दीजिए कीजिए दो करो धन्यवाद शुक्रिया गा गी गे लो',
    asking: 'क्या कब कहाँ कहां कैसे क्यों कौन कितने कितना कितनी',
  }),
};

/** Languages without spaces: the end of the text tells, the longest ending that fits. */
export interface TurnEndings {
  open: readonly string[];
  closed: readonly string[];
}

function endings(open: string, closed: string): TurnEndings {
  const byLength = (list: string): string[] => [...wordSet(list)].sort((a, b) => b.length - a.length);
  return { open: byLength(open), closed: byLength(closed) };
}

export const TURN_ENDINGS: Readonly<Record<string, TurnEndings>> = {
  ja: endings(
    `は が を に で と の も へ や から ので けど けれど けれども が、 て って し たら ば なら まで より とか それから あと
     えっと ええと えー あの あのー そして でも だから 私 僕 ちょっと という ですが ますが`,
    `です ます ました ません でした でしょう ください 下さい か ですか ますか ね よ よね な だ った たい ない ある いる はい
     いいえ うん ええ お願いします お願い ありがとう ありがとうございます もしもし 大丈夫 そう 時 日 人 名 様`,
  ),
  zh: endings(
    `的 和 跟 与 及 因为 但是 可是 不过 所以 如果 要是 虽然 在 给 对 把 被 从 到 向 为 是 我 我们 你 他 她 我想 我要 想 要
     那个 这个 就是 然后 还有 嗯 呃 比如 一个 一 关于 叫 姓`,
    `吗 呢 吧 了 啊 呀 谢谢 可以 好 好的 对的 是的 行 没有 不是 不 不用 再见 拜拜 点 号 位 人 分 怎么办 多少 什么 哪里 的话 来的 要的 有的 对 是`,
  ),
};

export const QUESTION_MARK = /[?？][\s"'”’」』)]*$/u;
