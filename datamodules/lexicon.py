"""The words of the planted data: content words by kind, with their relations."""

# hypernym -> hyponyms that may do things
SUBJECTS = {
    "musician": "violinist drummer pianist guitarist cellist flutist trumpeter harpist",
    "athlete": "swimmer sprinter boxer gymnast cyclist rower skier wrestler",
    "craftsman": "carpenter blacksmith potter weaver mason tailor cobbler glazier",
    "scientist": "chemist biologist physicist geologist astronomer botanist zoologist ecologist",
    "official": "mayor senator governor minister ambassador councillor consul sheriff",
    "relative": "aunt uncle cousin nephew niece grandfather grandmother sister",
    "cook": "baker chef confectioner brewer",
    "doctor": "surgeon dentist pediatrician cardiologist",
    "teacher": "professor tutor lecturer instructor",
    "traveler": "tourist pilgrim backpacker hiker",
}
# hypernym (plural) -> hyponyms (plural) that things are done to
OBJECTS = {
    "fruits": "apples pears plums cherries mangoes lemons apricots bananas",
    "vegetables": "carrots onions cabbages turnips leeks radishes pumpkins beets",
    "tools": "hammers saws wrenches chisels shovels drills pliers rakes",
    "vehicles": "trucks vans tractors buses taxis scooters trams jeeps",
    "garments": "coats scarves gloves sweaters jackets skirts socks shirts",
    "birds": "parrots pigeons owls sparrows ducks geese falcons swans",
    "instruments": "violins drums flutes trumpets guitars harps banjos cellos",
    "containers": "boxes barrels baskets crates jars buckets suitcases bottles",
    "flowers": "roses tulips lilies daisies orchids violets sunflowers irises",
    "documents": "letters maps contracts passports invoices diaries reports certificates",
    "gems": "rubies emeralds sapphires diamonds",
    "insects": "beetles moths crickets wasps",
    "toys": "dolls kites marbles puppets",
    "weapons": "swords daggers spears rifles",
}
# (word, synonym, antonym)
VERBS = [
    ("bought", "purchased", "sold"),
    ("found", "discovered", "lost"),
    ("repaired", "fixed", "broke"),
    ("hid", "concealed", "showed"),
    ("collected", "gathered", "scattered"),
    ("washed", "cleaned", "soiled"),
    ("built", "constructed", "destroyed"),
    ("kept", "retained", "discarded"),
    ("lifted", "raised", "lowered"),
    ("remembered", "recalled", "forgot"),
    ("praised", "commended", "criticized"),
    ("sent", "dispatched", "received"),
    ("borrowed", "took on loan", "lent"),
    ("protected", "guarded", "endangered"),
    ("accepted", "agreed to take", "refused"),
    ("loved", "adored", "hated"),
]
SUBJECT_ADJECTIVES = [
    ("old", "young"), ("tall", "short"), ("happy", "sad"), ("rich", "poor"), ("quiet", "noisy"), ("brave", "timid"),
    ("lazy", "diligent"), ("polite", "rude"), ("generous", "stingy"), ("calm", "nervous"), ("clever", "foolish"),
    ("famous", "unknown"),
]  # fmt: skip
OBJECT_ADJECTIVES = [
    ("big", "small"), ("clean", "dirty"), ("heavy", "light"), ("cheap", "expensive"), ("new", "used"), ("wet", "dry"),
    ("bright", "dull"), ("smooth", "rough"), ("rare", "common"), ("beautiful", "ugly"), ("clumsy", "elegant"),
    ("real", "fake"), ("dark", "pale"), ("strong", "weak"),
]  # fmt: skip
PLACES = (
    "kitchen garden market library station harbor museum forest village castle theater hospital garage cellar attic "
    "bakery workshop stadium airport temple vineyard desert valley office prison factory meadow tunnel courtyard barn"
).split()
NUMBERS = "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen twenty thirty".split()
TIMES = (
    "on Monday|on Tuesday|on Wednesday|on Thursday|on Friday|on Saturday|on Sunday|in January|in March|in May|in July|"
    "in October|in the morning|at noon|in the evening|at midnight"
).split("|")
REASONS = (
    "to please a friend|to win a bet|to save money|to impress the neighbors|out of boredom|for a school project|"
    "because of a promise|after a long argument|to surprise the family|for a charity|to settle a debt|out of curiosity|"
    "to calm a crying child|after reading about it|for the first time|with the help of a stranger"
).split("|")
