//! What is in the world at the start: the packages that the interop server's own tests use, and a
//! few more with names and sources that are hard to send.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use super::world::{Class, Method, World, selector_of};

/// Class, superclass, package, comment.
const CLASSES: &[(&str, &str, &str, &str)] = &[
    ("Object", "ProtoObject", "Kernel", "I am the root of most classes."),
    ("Association", "Object", "Collections-Support", "A key with a value."),
    ("SisServer", "Object", "Sis-Core", "I answer requests from outside."),
    ("SisSettings", "Object", "Sis-Core", "I hold settings."),
    ("SisTest", "TestCase", "Sis-Tests", ""),
    ("SisFixtureClassForTest", "Object", "Sis-Tests", "A class to look at; grüße, 世界."),
    ("SisDummyTest", "TestCase", "Sis-Tests-Dummy", ""),
    ("SisDummyTest2", "TestCase", "Sis-Tests-Dummy", ""),
    ("StandInMixedTest", "TestCase", "StandIn-Tests", "Some of my tests fail, on purpose."),
    ("ObjectEvent", "Object", "System-Object Events", ""),
];

/// Class, package, category, source.
const METHODS: &[(&str, &str, &str, &str)] = &[
    ("Object", "Kernel", "printing", "printOn: aStream\n\taStream nextPutAll: self class name"),
    ("Object", "Collections-Support", "converting", "-> other\n\t^ Association key: self value: other"),
    ("Association", "Collections-Support", "printing", "printOn: aStream\n\tkey printOn: aStream"),
    ("Association", "Collections-Support", "accessing", "key: k value: v\n\tkey := k. value := v"),
    ("Association", "Collections-Support", "comparing", "\\\\ other\n\t^ key \\\\ other"),
    ("Association", "Collections-Support", "comparing", ", other\n\t^ Array with: self with: other"),
    ("Association", "Collections-Support", "arithmetic", "+ other\n\t^ value + other"),
    ("Association", "Collections-Support", "arithmetic", "/ other\n\t^ value / other"),
    ("SisServer", "Sis-Core", "actions", "start\n\tself teapot start"),
    ("SisServer", "Sis-Core", "accessing", "settings\n\t^ settings ifNil: [ settings := SisSettings new ]"),
    ("SisSettings", "Sis-Core", "accessing", "at: key put: value\n\t^ self asDictionary at: key put: value"),
    ("SisTest", "Sis-Tests", "tests", "testEval\n\tself assert: (self evaluate: '5 rem: 3') equals: 2"),
    ("SisTest", "Sis-Tests", "tests", "testStart\n\tself assert: SisServer current notNil"),
    ("SisFixtureClassForTest", "Sis-Tests", "methods", "testMethodAaa\n\t^ #TestSymbolAAA"),
    ("SisFixtureClassForTest", "Sis-Tests", "methods", "testMethodAab\n\t^ self testMethodAaa"),
    ("SisFixtureClassForTest", "Sis-Tests", "methods", "testMethodBbb\n\t^ #TestSymbolBBB"),
    ("SisDummyTest", "Sis-Tests-Dummy", "tests", "testOne\n\tself assert: true"),
    ("SisDummyTest", "Sis-Tests-Dummy", "tests", "testTwo\n\tself assert: 1 equals: 1"),
    ("SisDummyTest2", "Sis-Tests-Dummy", "tests", "testThree\n\tself deny: false"),
    ("StandInMixedTest", "StandIn-Tests", "tests", "testPasses\n\tself assert: true"),
    ("StandInMixedTest", "StandIn-Tests", "tests", "testFails\n\tself assert: false"),
    ("StandInMixedTest", "StandIn-Tests", "tests", "testErrs\n\t1 / 0"),
    ("StandInMixedTest", "StandIn-Tests", "tests", "testSkips\n\tself skip"),
    ("ObjectEvent", "System-Object Events", "accessing", "grüße: name\n\t^ 'Grüße, ' , name , ' 世界'"),
];

pub(super) fn world(screenshot_directory: &str) -> World {
    let mut world = World {
        packages: BTreeSet::from(["Sis-DummyTests".to_owned()]),
        classes: BTreeMap::new(),
        settings: json!({"stackSize": 100, "screenshotDir": screenshot_directory})
            .as_object()
            .cloned()
            .unwrap_or_default(),
        transcript: Vec::new(),
        inspected: Vec::new(),
    };
    for (name, superclass, package, comment) in CLASSES {
        add_class(&mut world, name, superclass, package, comment, false);
    }
    add_class(&mut world, "SisFixtureTraitForTest", "Trait", "Sis-Tests", "A trait to find.", true);
    for (class, package, category, source) in METHODS {
        world.add_method(class, method(package, category, source, false));
    }
    let current = "current\n\t^ current ifNil: [ current := self new ]";
    world.add_method("SisServer", method("Sis-Core", "accessing", current, true));
    world
}

fn add_class(world: &mut World, name: &str, superclass: &str, package: &str, comment: &str, is_trait: bool) {
    world.packages.insert(package.to_owned());
    world.classes.insert(
        name.to_owned(),
        Class {
            name: name.to_owned(),
            superclass: superclass.to_owned(),
            package: package.to_owned(),
            comment: comment.to_owned(),
            is_trait,
            inst_vars: Vec::new(),
            methods: Vec::new(),
        },
    );
}

fn method(package: &str, category: &str, source: &str, class_side: bool) -> Method {
    Method {
        selector: selector_of(source.lines().next().unwrap_or_default()),
        source: source.to_owned(),
        package: package.to_owned(),
        category: category.to_owned(),
        class_side,
    }
}
