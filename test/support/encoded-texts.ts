/** Texts of many kinds in encodings that programs of their region write. */
export const encodedTexts: readonly [encoding: string, text: string][] = [
  [
    'gbk',
    '尊敬的客户：感谢您购买本公司的产品。我们已经收到您的订单，预计三个工作日内发货。如果您对产品质量有任何疑问，请随时联系客服中心，电话是四零零八二零。退货请在收到商品后七天内办理，并保留完整的包装和发票。我们会尽快处理您的申请，祝您生活愉快。',
  ],
  [
    'gbk',
    '姓名,城市,职位,备注\n王小明,北京,工程师,负责后端开发\n李芳,上海,会计,每月提交报表\n张伟,广州,销售经理,客户关系维护\n刘洋,成都,设计师,网站与广告\n陈静,杭州,人事,招聘和培训\n赵磊,武汉,仓库主管,发货检查\n',
  ],
  [
    'gbk',
    '昨天下午，市政府召开新闻发布会，介绍了今年上半年的经济情况。据统计，全市生产总值同比增长百分之六，居民收入稳步提高。有关负责人表示，下一步将继续改善交通，建设更多的公园和学校，解决群众关心的问题。会上还回答了记者的提问。',
  ],
  [
    'gbk',
    '系统安装说明：首先打开电源，等待指示灯变为绿色。然后在浏览器中输入管理地址，使用默认密码登录。第一次登录后必须修改密码。如果网络连接失败，请检查网线是否插好，或者重新启动路由器。所有设置保存以后立即生效。',
  ],
  [
    'big5',
    '各位同仁大家好：下週三上午十點將於三樓會議室舉行年度預算會議，請各部門主管準時參加。請事先準備去年的支出資料，並將報告寄給財務部。會議結束後備有午餐，如有飲食上的特殊需求請先告知行政人員，謝謝大家的配合。',
  ],
  [
    'big5',
    '編號,姓名,電話,地址\n1,林美玲,02-2345,臺北市中正區\n2,黃志明,04-2211,臺中市西屯區\n3,吳淑芬,07-3312,高雄市左營區\n4,蔡宗翰,06-2788,臺南市東區\n5,鄭雅文,03-5712,新竹市北區\n6,許家豪,03-8322,花蓮縣花蓮市\n',
  ],
  [
    'big5',
    '親愛的顧客，本店因內部裝修，將於七月一日至七月十日暫停營業。期間如需查詢訂單，請致電客戶服務熱線或瀏覽我們的網頁。裝修完成後，我們會以全新面貌為大家服務，並送上優惠券。不便之處，敬請原諒。',
  ],
  [
    'big5',
    '從前有一個小村子，村子旁邊有一條清澈的河流。每天早上，孩子們都會到河邊玩水，老人則坐在大樹下聊天。有一年夏天下了很大的雨，河水淹過了橋，大家只好一起動手把橋修好，從此村民的感情更加深厚了。',
  ],
  [
    'shift_jis',
    'いつもお世話になっております。株式会社山田の佐藤です。先日ご依頼いただきました見積書を添付いたしましたので、ご確認をお願いいたします。納期は来月の十五日を予定しております。ご不明な点がございましたら、お気軽にお問い合わせください。どうぞよろしくお願いいたします。',
  ],
  [
    'shift_jis',
    '番号,氏名,部署,備考\n1,田中太郎,営業部,東京支店\n2,鈴木花子,総務部,大阪本社\n3,高橋一郎,開発部,システム担当\n4,伊藤美咲,経理部,請求書の確認\n5,渡辺健,製造部,名古屋工場\n6,中村愛,人事部,採用と研修\n',
  ],
  [
    'shift_jis',
    '本製品をお使いになる前に、この取扱説明書をよくお読みください。コンセントに接続し、電源ボタンを押すとランプが点灯します。水やほこりの多い場所では使用しないでください。故障かなと思ったときは、サポートセンターまでご連絡ください。保証期間はお買い上げの日から一年間です。',
  ],
  [
    'shift_jis',
    'メニュー\nコーヒー 四百円\nアイスティー 四百五十円\nサンドイッチ 七百円\nチョコレートケーキ 五百円\nセットをご注文のお客様はドリンクが半額になります。アレルギーをお持ちの方はスタッフにお知らせください。',
  ],
  [
    'euc-jp',
    '気象庁によると、今日は全国的に晴れて気温が上がり、東京では三十度を超える見込みです。午後は山沿いを中心に雷雨となるところもあるでしょう。外出の際はこまめに水分を取り、熱中症に注意してください。明日は西から天気が下り坂に向かう予想です。',
  ],
  [
    'euc-jp',
    '本研究では、大学生を対象として読書の習慣と語彙の関係を調査した。その結果、毎日本を読む学生は読まない学生に比べて語彙の試験の得点が高いことが分かった。ただし、この差が読書だけによるものかどうかは明らかではなく、今後さらに検討する必要がある。',
  ],
  [
    'euc-jp',
    '処理を開始しました。\nファイルを読み込んでいます。\n設定ファイルが見つかりません。初期値を使用します。\nデータベースに接続できませんでした。もう一度接続します。\n接続に成功しました。\nすべての処理が正常に終了しました。\n',
  ],
  [
    'euc-kr',
    '안녕하세요. 지난주에 보내 주신 자료는 잘 받았습니다. 내용을 검토한 결과 몇 가지 수정이 필요하여 연락드립니다. 첫째, 계약 기간은 일 년으로 변경해 주시기 바랍니다. 둘째, 배송 비용은 저희 회사에서 부담하겠습니다. 확인하신 후 답장을 부탁드립니다. 감사합니다.',
  ],
  [
    'euc-kr',
    '번호,이름,부서,전화\n1,김민수,영업부,02-123-4567\n2,이영희,총무부,031-222-3333\n3,박지훈,개발부,051-444-5555\n4,최수진,인사부,053-666-7777\n5,정하늘,재무부,062-888-9999\n',
  ],
  [
    'euc-kr',
    '정부는 내년부터 새로운 교통 카드 제도를 시행한다고 밝혔다. 이 제도가 시행되면 시민들은 버스와 지하철을 한 장의 카드로 이용할 수 있게 된다. 전문가들은 대중교통 이용이 늘어나고 도로가 덜 막힐 것으로 기대하고 있다.',
  ],
  [
    'euc-kr',
    '먼저 양파와 당근을 잘게 썰어 주세요. 냄비에 기름을 두르고 중간 불에서 오 분 동안 볶습니다. 물을 넣고 끓기 시작하면 감자와 고기를 넣으세요. 이십 분 정도 더 끓인 다음 소금으로 간을 맞추면 맛있는 국이 완성됩니다.',
  ],
  [
    'windows-1250',
    'Szanowni Państwo, dziękujemy za złożenie zamówienia w naszym sklepie. Przesyłka zostanie wysłana w ciągu trzech dni roboczych. Jeżeli chcą Państwo zmienić adres dostawy, proszę napisać do nas wiadomość albo zadzwonić w godzinach od ósmej do szesnastej. Życzymy miłego dnia i zapraszamy ponownie na zakupy świąteczne.',
  ],
  [
    'windows-1250',
    'Vážení zákazníci, děkujeme za vaši objednávku. Zboží vám bude doručeno během několika dnů na uvedenou adresu. Pokud budete chtít zboží vrátit, můžete tak učinit do čtrnácti dnů od převzetí zásilky. Příští týden bude naše prodejna z důvodu rekonstrukce uzavřena. Přejeme vám hezký den a těšíme se na vaši další návštěvu.',
  ],
  [
    'windows-1250',
    'Tisztelt Ügyfelünk! Köszönjük, hogy megrendelését áruházunkban adta le. A csomagot várhatóan két munkanapon belül kézbesítjük. Amennyiben kérdése van, kérjük, írjon ügyfélszolgálatunknak, vagy hívja a következő telefonszámot. A megrendelt könyvek és egyéb termékek előzetes értesítés nélkül is átvehetők üzletünkben.',
  ],
  [
    'windows-1251',
    'Уважаемые коллеги! Напоминаем, что собрание сотрудников состоится в пятницу в десять часов утра в большом зале. Просим подготовить краткие отчёты о проделанной работе и передать их секретарю до четверга. После собрания состоится обсуждение плана на следующий год. Если вы не можете прийти, сообщите об этом заранее.',
  ],
  [
    'windows-1251',
    'Шановні клієнти! Повідомляємо, що з першого вересня наш офіс працює за новим графіком: з дев’ятої до вісімнадцятої години щодня, крім неділі. Замовлення можна оформити на сайті або за телефоном. Доставка по місту безкоштовна, якщо сума покупки перевищує п’ятсот гривень. Дякуємо, що ви з нами.',
  ],
  [
    'windows-1251',
    'Уважаеми клиенти, благодарим ви за направената поръчка. Пратката ще бъде доставена до три работни дни на посочения адрес. Ако имате въпроси, можете да се обадите на нашия телефон или да изпратите съобщение по електронната поща. Връщането на стоката е възможно в срок от четиринадесет дни.',
  ],
  [
    'windows-1252',
    'Sehr geehrte Damen und Herren, für die Übersendung der Unterlagen möchten wir uns herzlich bedanken. Die Prüfung wird voraussichtlich zwei Wochen dauern. Natürlich können Sie uns während dieser Zeit jederzeit anrufen. Größere Änderungen müssten schriftlich bestätigt werden. Mit freundlichen Grüßen aus München, Ihr Büro für Straßenbau.',
  ],
  [
    'windows-1252',
    'Chère cliente, cher client, nous avons bien reçu votre commande et nous vous en remercions. Elle sera expédiée dès demain à l’adresse indiquée. Si vous n’êtes pas présent lors de la livraison, le colis sera déposé à la boîte aux lettres ou au bureau de poste le plus proche. N’hésitez pas à nous écrire, même après la période de garantie.',
  ],
  [
    'windows-1252',
    'Estimado señor: le informamos de que la reunión del próximo miércoles se celebrará en la oficina de Málaga. Además, será necesario que envíe la documentación antes del día quince, porque después no podremos tramitar la solicitud. El año pasado hubo más retrasos de lo habitual. ¿Tiene alguna pregunta? Llámenos por teléfono.',
  ],
  [
    'windows-1252',
    'Hej! Tack för din beställning. Vi skickar varorna så snart de är färdiga, vilket brukar ta två till tre dagar. Om något skulle saknas när du öppnar paketet är det bäst att höra av sig på en gång. Återbetalning sker då inom fjorton dagar. Vi önskar dig en trevlig helg och hoppas att få se dig här hos oss också nästa år.',
  ],
  [
    'windows-1254',
    'Sayın müşterimiz, siparişiniz için teşekkür ederiz. Ürününüz üç iş günü içinde adresinize gönderilecektir. Eğer değişiklik yapmak isterseniz lütfen bizi arayınız. İade işlemleri için ürünün kullanılmamış olması ve faturanın saklanması gerekmektedir. Size daha iyi hizmet verebilmek için çalışıyoruz. İyi günler dileriz.',
  ],
  [
    'windows-1254',
    'Ad,Soyad,Şehir,Görev\nAyşe,Yılmaz,İstanbul,Mühendis\nMehmet,Öztürk,Diyarbakır,Öğretmen\nGülşen,Çelik,Eskişehir,Müdür\nIşıl,Doğan,Muğla,Satış görevlisi\nOğuz,Şahin,Kırşehir,Şoför\nTuğba,Güneş,Çanakkale,Aşçı\n',
  ],
  [
    'windows-1256',
    'السادة العملاء الكرام، نشكركم على ثقتكم بنا ونود إعلامكم بأن مكاتبنا ستكون مغلقة خلال أيام العيد. يمكنكم إرسال طلباتكم عبر البريد الإلكتروني وسوف نرد عليها في أقرب وقت ممكن. كما يمكنكم زيارة موقعنا للاطلاع على المنتجات الجديدة والأسعار الخاصة بهذا الشهر. مع أطيب التحيات.',
  ],
  [
    'windows-1256',
    'أعلنت وزارة التعليم اليوم أن العام الدراسي الجديد سيبدأ في الأسبوع الأول من شهر سبتمبر. وقال الوزير إن عدد المدارس التي تم بناؤها خلال السنة الماضية بلغ خمسين مدرسة في مختلف المدن والقرى، وإن الهدف هو توفير مقعد لكل طالب.',
  ],
  [
    'koi8-r',
    'Здравствуйте! Высылаю вам список книг, которые мы хотели бы заказать для нашей библиотеки. Пожалуйста, сообщите, сколько времени займёт доставка и можно ли оплатить заказ по безналичному расчёту. Кроме того, нам нужны накладные и копия договора. С уважением, заведующая библиотекой Ольга Петрова.',
  ],
  [
    'koi8-r',
    'Программа устанавливается в каталог пользователя. Для запуска наберите имя команды и нажмите ввод. Если файл настроек отсутствует, он будет создан автоматически. Сообщения об ошибках записываются в журнал. Перед обновлением рекомендуется сделать резервную копию всех данных и проверить свободное место на диске.',
  ],
  [
    'utf-16le',
    'Name,City,Note\r\nAnn,Oslo,first order\r\nBob,London,second order\r\nCarol,Bergen,no order yet\r\nDave,Dublin,asked for an invoice and a copy of the contract\r\nEve,York,moved to another street last week\r\n',
  ],
  [
    'utf-16be',
    'Die Besprechung beginnt um neun Uhr. Größere Räume gibt es im zweiten Stock. Bitte überprüfen Sie Ihre Unterlagen und bringen Sie Änderungswünsche schriftlich mit. Für Getränke ist gesorgt.',
  ],
  [
    'utf-16le',
    'Здравствуйте! Отправляю вам обещанные документы. Пожалуйста, подтвердите получение письма и напишите, когда вам будет удобно встретиться. Цены указаны в рублях, скидка действует до конца месяца.',
  ],
  [
    'utf-16le',
    '本合同一式两份，双方各执一份，自签字之日起生效。甲方应当在三十天内支付全部货款，乙方负责运输和安装。如有争议，双方应当友好协商解决。任何一方都不得单方面修改合同的内容。',
  ],
  [
    'utf-16be',
    '会議の議事録を送ります。次回は来週の火曜日、午後二時から始めます。参加できない方は、事前にメールでお知らせください。資料は共有フォルダにあります。',
  ],
];

/** Texts in encodings that are not detected. */
export const otherTexts: readonly [encoding: string, text: string][] = [
  [
    'macintosh',
    'Für die Übersendung der Unterlagen möchten wir uns herzlich bedanken. Die Prüfung wird voraussichtlich zwei Wochen dauern.',
  ],
  [
    'x-mac-cyrillic',
    'Программа устанавливается в каталог пользователя. Если файл настроек отсутствует, он будет создан автоматически.',
  ],
  [
    'ibm866',
    'Сообщения об ошибках записываются в журнал. Перед обновлением рекомендуется сделать копию всех данных.',
  ],
];

export const thaiTexts = [
  'เรียนลูกค้าทุกท่าน ขอบคุณสำหรับคำสั่งซื้อของท่าน สินค้าจะจัดส่งภายในสามวันทำการตามที่อยู่ที่แจ้งไว้',
  'กรุณาส่งเอกสารภายในวันที่สามสิบเอ็ด',
  'วันนี้อากาศดีมาก เราไปเที่ยวทะเลกันเถอะ',
  'สวัสดีครับ ผมชื่อสมชาย ทำงานอยู่ที่กรุงเทพมหานคร',
];

/** The bytes of each character in an encoding that Node.js only decodes. */
const tables = new Map<string, ReadonlyMap<string, readonly number[]>>();

function tableOf(encoding: string): ReadonlyMap<string, readonly number[]> {
  const decoder = new TextDecoder(encoding);
  const table = new Map<string, readonly number[]>();
  const add = (...bytes: number[]): void => {
    const character = decoder.decode(Uint8Array.from(bytes));
    if ([...character].length === 1 && character !== '\uFFFD' && !table.has(character))
      table.set(character, bytes);
  };
  for (let byte = 0; byte < 256; byte += 1) add(byte);
  if (/^(?:windows|koi8|ibm|.*mac)/.test(encoding)) return table;
  for (let lead = 0x81; lead < 0xff; lead += 1)
    for (let trail = 0x40; trail < 0xff; trail += 1) add(lead, trail);
  return table;
}

function bytesOf(encoding: string, character: string): readonly number[] {
  if (encoding.startsWith('utf-16')) {
    const bytes = Buffer.from(character, 'utf16le');
    return [...(encoding === 'utf-16be' ? bytes.swap16() : bytes)];
  }
  const table = tables.get(encoding) ?? tableOf(encoding);
  tables.set(encoding, table);
  const bytes = table.get(character);
  if (bytes === undefined) throw new Error(`${encoding} has no ${character}`);
  return bytes;
}

/** As many whole characters of the text, repeated if it is too short, as have so many bytes. */
export function encoded(encoding: string, text: string, length: number): { bytes: Uint8Array; text: string } {
  const bytes: number[] = [];
  let written = '';
  for (;;)
    for (const character of `${text} `) {
      const next = bytesOf(encoding, character);
      if (bytes.length + next.length > length) return { bytes: Uint8Array.from(bytes), text: written };
      bytes.push(...next);
      written += character;
    }
}
