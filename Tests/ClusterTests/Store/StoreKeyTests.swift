import Testing

@testable import Cluster

@Suite struct StoreKeyTests {
    @Test(arguments: [
        (StoreKey.node("n-1.a"), "/tessera/1/nodes/n-1.a"), (.load("n1"), "/tessera/1/load/n1"),
        (.owner("Straße 7/b"), "/tessera/1/owners/Stra%C3%9Fe%207%2Fb"),
        (.owner("~socketIO"), "/tessera/1/owners/~socketIO"),
        (.room("50%"), "/tessera/1/rooms/50%25"), (.layout("my_stage-2"), "/tessera/1/layouts/my_stage-2"),
    ])
    func `a key has one text, and is read from it`(key: StoreKey, text: String) {
        #expect(key.text == text)
        #expect(StoreKey(text) == key)
    }

    @Test(arguments: [
        "", "/tessera/1/", "/tessera/2/nodes/a", "/tessera/1/nodes/", "/tessera/1/nodes/a/b", "/tessera/1/nodes/%4",
        "/tessera/1/nodes/%zz", "/tessera/1/nodes/%FF", "/tessera/1/layouts/A", "/tessera/1/layouts/%2Fa",
        "/tessera/1/others/a", "nodes/a",
    ])
    func `other texts are no keys`(text: String) { #expect(StoreKey(text) == nil) }

    @Test func `what is followed lies between two keys, what is watched too, and the rooms' states do not`() {
        let keys: [StoreKey] = [.load("a"), .load("~"), .node("0"), .node("~"), .owner("0"), .owner("~~")]
        for key in keys { #expect(StoreArea.followed.begin <= key.text && key.text < StoreArea.followed.end) }
        let layouts: [StoreKey] = [.layout("-"), .layout("z")]
        for key in layouts {
            #expect(StoreArea.layouts.begin <= key.text && key.text < StoreArea.layouts.end)
            #expect(key.text < StoreArea.followed.begin)
        }
        for key in keys + layouts {
            #expect(StoreArea.watched.begin <= key.text && key.text < StoreArea.watched.end)
        }
        #expect(StoreKey.room("a").text >= StoreArea.followed.end)
        #expect(StoreArea.rooms.begin <= StoreKey.room("a").text && StoreKey.room("~").text < StoreArea.rooms.end)
    }
}
