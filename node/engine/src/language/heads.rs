//! Which words often are part of German, Dutch, Swedish, Danish, Norwegian and Finnish compounds?
//!
//! Lists of our own, normalised, in alphabetical order: common nouns of shops, houses, work and travel. A compound made
//! of others is not seen by the index; the words of the index itself help at query time, and users may add entries.

/// Parts of German compounds.
pub(super) const GERMAN: &str = "abend abfall anzug apfel arbeit arm arzt auge auto bad bahn ball bank bau baum becher \
    behalter bein berg beruf bett bild blatt blume boden bohne bohrer boot brett brief brille brot bruch buch bund burste bus \
    buro butter computer creme dach dampf decke deckel dose draht druck drucker ecke eimer eis eisen essen fabrik fach faden \
    fahrer fahrrad fahrt farbe fass feder feier feld fenster ferien fest feuer film finger fisch flasche fleisch flug flugel \
    folie form foto frau freund frucht fuhrer fuss futter gabel garn garten gast gebaude geld gelenk gemuse gerat geschenk \
    geschaft gesellschaft gesetz gewicht glas gold griff gurtel haar hafen hahn halle halter hammer hand handel handler handschuh \
    handtuch handy haus haut heft heim heizung hemd herd herren herz hilfe hof holz honig hose hosen huhn hulle hund hut hutte \
    industrie insel jacke jahr junge kabel kaffee kalender kammer kamm kanne kappe karte kartoffel kase kasten katze keller kerze \
    kessel kette kinder kirche kissen kiste klasse kleid kleider kleidung klinik knopf koch koffer kohle konig kopf korb korper \
    kosten kraft kranken kranz kraut kreis kreuz kuche kuchen kugel kuhl kunst kurs lack laden lager lamm lampe land laden lauf \
    leben leder lehrer leine leiste leiter leitung leuchte licht liebe linie liste loch loffel luft macher mantel mappe markt \
    maschine maske matte mauer maus meer mehl meister messer metall miete milch mittel mobel monat motor motorrad mulleimer museum \
    musik mutter mutze nacht nadel nagel name nase netz nuss ofen ohr ol ordner ort papier park partei pfanne pferd pflanze \
    pflaster pflege plan platte platz post preis programm pullover pulver pumpe punkt rad rahmen rand rat raum rechner recht regal \
    regen reifen reihe reise reiniger reinigung ring rind rock rohr rolle rucksack ruf saal saft salat salz sache sack sand sattel \
    satz schachtel schal schale schalter schaufel scheibe schein schere schiff schild schinken schirm schlaf schlag schlange \
    schlauch schloss schlussel schmuck schnee schnur schrank schraube schreib schrift schuh schule schuler schussel schutz schwein \
    see seide seife seil seite senf sessel shirt sicherheit silber sitz sohle sommer sonne sonnen spiegel spiel spieler spielzeug \
    spitze sport sprache spule stab stadt stahl stall stand stange station staub stecker stein stelle stempel stern steuer stiefel \
    stift stoff strand strasse strassen strauss streifen strom strumpf stuck student stuhl stunde sturm suppe system tafel tag \
    tasche tasse taste tee teig teil telefon teller teppich thema tier tisch tochter ton topf tor torte trager traum treppe tuch \
    tur turm uhr unter urlaub vater verein verkehr versicherung vogel vorhang wachs waffe wage wagen wald wand ware wasch wasche \
    wasser weg wein weihnacht weihnachts welt werk werkzeug wetter winter wirt wissen woche wohnung wolle wort wurst zahl zahn \
    zange zaun zeichen zeit zeitung zelt zentrum ziel zimmer zucker zug";
/// Parts of Dutch compounds.
pub(super) const DUTCH: &str = "aardappel appel arbeid arm auto avond baan bad bak bakker bal band bank bed been berg beurs \
    bezoek bier bij blad bloem bloemen boek boeken boom boot bord borstel bos boter bouw brand brief bril broek brood bron brug buis \
    bureau bus dag dak dans deel deken dek deksel deur dienst dier dieren diner doek doos draad druk eten fabriek feest fiets fietsen \
    film fles foto fruit garage gebouw geld gereedschap glas goed goud groente groep haar haak hand handdoek handschoen haven heer \
    helm hemd hoed hoek hoes hond honden hout houder huid huis hulp huur ijs ijzer jaar jas jurk kaart kaas kabel kachel kalender \
    kamer kantoor kap kast kat keten ketting keuken kind kinder kinderen kip kist kleding kleed klas klok knop koffer koffie kok \
    konijn koning kop kosten kracht kruid kruis kunst kussen lade lamp land leer leraar leven lezer licht lijn lijst lood loop lucht \
    maand maat machine man mand markt mat meel meer meester melk mes metaal meter meubel middel molen moeder motor muis muts muur muziek \
    naald naam nacht net noot olie onderhoud oog oor oven paard pak pan papier park pen persoon plaat plaats plank plant plein poort \
    poot post pot prijs punt raam rand reis reiniger rek riem ring rok rol rug rugzak ruimte sap schaal schaap schaar scherm schip \
    school schoen schoenen schoonmaak schroef slaap slang sleutel slot sneeuw spel speler spiegel sport staal stad station steen stem \
    ster stof stoel straat stroom stuk suiker tafel tand tas tent tijd thee toren touw trap trein trui tuin vader vak vakantie varken \
    vat veld verf vis vlees vloer voedsel voet voetbal vogel vorm vriend vrouw vuur wagen wand was wasser water weg week wereld werk \
    wiel wijn winkel winter wol zaak zak zalf zand zee zeep zetel zijde ziekenhuis zilver zomer zon zonne zout";
/// Parts of Swedish compounds.
pub(super) const SWEDISH: &str = "affar arbete bad bana band bank barn bat bensin berg bil bild biljett bio blad blomma bok bord \
    borste bro brev brod burk buss bygg byxor cykel dag dator djur dorr dryck duk eld fabrik fader farg fest film fisk flagg flaska \
    flyg flygplan fonster form fot fotboll foto fru frukt fagel galler garn gata glas golv grad grupp gras guld halsband hall hand \
    handduk handske hatt hem hjalm hjul host hotell hund hus hylla jacka jobb jord jul kaffe kalas kanal karta katt kedja kjol klader \
    klanning klass klocka kniv kok kontor kopp korg kort kraft kruka krok kudde kung kvall kyrka lada lag lampa land lapp lek lera liv \
    ljus lopp luft lager lakare lask lasare maskin mat matta medel meter mjolk moder motor museum musik mossa mobel nal namn natt nyckel \
    ol olja ost panna papper park peng pengar penna plan plats plat post press ram rad regn resa ring rock rum ror saft sak salt sand \
    skal skap skapp skola skor sked skiva skjorta skog skruv skydd slott smor sno socker sol sommar spegel spel spelare sport stad stal \
    station sten stol strand strom stuga stycke system sang tak tal tand tavla te teater telefon tid ting tra trad trapp troja tradgard \
    tag tarta vagn vakt vara varld vatten vecka ved vin vinter vag vagg vantan vaska ved vard vader yta ylle agg apple";
/// Parts of Danish compounds.
pub(super) const DANISH: &str = "aften arbejde bad bager bane bank barn bil billede bjerg blad blomst bog bold bolig bord bro brev \
    brod borne borste bukser bus butik bygning bad cykel dag dame dyr dor dug dyne eksamen fabrik fad farve fest fil film fisk flag \
    flaske fly fod fodbold folk form foto frugt fugl gade gard glas gulv guld gron haj halskaede handel handske hat have hest hjelm hjul \
    hjem hjerte hotel hund hus hylde haand haandklaede hand ild jakke jord jul juice kaffe kage kalender kort kat kirke kjole klaede \
    klasse klokke kniv kontor kop kraft krog kunde kunst kurv kasse koleskab kokken kod lampe land laege laerer lejlighed lys liv loft \
    luft lob maane mad maskine maerke medicin melk metal middag moder motor musik muse mobel maelk nat natur navn nogle olie ost pakke \
    papir park pen penge plads plade plan post pose pris rejse regn ring rum ror saft sal salt sand seng side skab skat skilt skjorte sko \
    skole skov skrue skuffe sky slot smor sne sol sommer spejl spil spiller sport sprog sted sten stol strand strom stue stykke sukker \
    suppe syge sygehus system saebe tag tand taske te telt tid tog toj trae trappe traad troje tur ur uge vand vare vask vej verden vin \
    vindue vinter vogn vaerelse vaegt vaerk vaerktoj ol aeble aeg aar";
/// Parts of Norwegian compounds.
pub(super) const NORWEGIAN: &str = "aksje apparat arbeid bad ball bane bank barn barne bil bilde bjorn blad blomst bok bord bolig bro \
    brev brod bukse buss butikk by bygg baat bat dag dame data dekk del dor dyne dyr eiendom eple fabrikk familie farge fest film fisk \
    fjell flagg flaske fly forsikring fot fotball foto frukt fugl gate garn gave glass gulv gull gard hage hall handel hanske hatt hav \
    helse hest hjelm hjem hjerte hjul hotell hund hus hytte hylle hand handkle hoved ild is jakke jente jobb jord jul kaffe kake kalender \
    kart katt kirke kjede kjeller kjole kjokken kjott klasse klokke klaer kniv konge kontor kopp kort kraft krok kunst kurs kurv lampe \
    land lege leilighet lys liv luft laerer lop mat maskin medisin melk metall mobel motor musikk museum middag natt natur navn nett \
    nokkel olje ost pakke panne papir park penger penn plan plass plate post pose pris regn reise ring rom ror saft salt sand seng side \
    sekk skap skilt skinn skjorte skjerf skole skog skrue skuff sky slott smor sno sokker sol sommer speil spill spiller sport sprak stasjon \
    sted stein stol strand strom stue stykke sukker suppe syke sykehus sykkel system sape tak tann tavle te telefon telt tid tog tre trapp \
    trad troye tur uke ur utstyr vann vare vask veg vei veske vin vindu vinter vogn verk verktoy vaer ol ar";
/// Parts of Finnish compounds.
pub(super) const FINNISH: &str = "aamu aika alue ammatti asema asia asunto auto avain elokuva elain hammas harja hattu henkilo hinta \
    hoito huone hylly ilma ilta jalka jalkapallo jaa joki joulu juhla juna juoma juusto kaappi kaivo kahvi kala kamera kangas kansa kansi \
    kartta kassi katto katu kauppa kaupunki kela kello kengat kenka kesa kieli kirja kirjasto kirkko kissa kivi kone koira koti koulu \
    kortti koru kukka kulta kuppi kuva kuusi kasi kasine kaytava laatikko lahja laite lakki laki lamppu lapsi lasi lasten lattia lauta \
    leipa lento lentokone leike lehti levy liha liike liina lintu loma lude luistin lukko lumi maa maali mansikka matka matto mehu meri \
    merkki metsa mies musiikki myynti nahka nainen nauha neula nimi nuotti nappi ohjelma oikeus olut opettaja opisto osa ovi paikka paita \
    paiva pallo pankki paperi penkki pelaaja peli peite perhe piha piirakka pipo polku polkupyora posti poyta puhelin puku pullo puu puutarha \
    pyora paa raha rakennus ranta rasia rata ravintola reppu ruoka ruuvi sade saha saari saapas sairaala sali salaatti sanomalehti savi seina \
    seura silma silta sohva sormus sota suihku suklaa suola syksy sanky tahti takki talo talvi tavara te tee teatteri tehdas tele tie tiede \
    tieto tietokone tila tuli tuoli tunti turva tyo tyokalu tyyny uuni vaate vaatteet vaunu vene vesi viikko viini villa vihko vuode vuosi \
    vuori vyo yo ystava";
