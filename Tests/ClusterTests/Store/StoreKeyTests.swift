import Testing

@testable import Cluster

@Suite struct StoreKeyTests {
    @Test(arguments: [
        (StoreKey.node("n-1.a"), "/tessera/1/nodes/n-1.a"), (.load("n1"), "/tessera/1/load/n1"),
        (.owner("Straße 7/b"), "/tessera/1/owners/Stra%C3%9Fe%207%2Fb"),
        (.owner("~socketIO"), "/tessera/1/owners/~socketIO"),
        (.room("50%"), "/tessera/1/rooms/50%25"),
    ])
    func `a key has one text, and is read from it`(key: StoreKey, text: String) {
        #expect(key.text == text)
        #expect(StoreKey(text) == key)
    }

    @Test(arguments: [
        "", "/tessera/1/", "/tessera/2/nodes/a", "/tessera/1/nodes/", "/tessera/1/nodes/a/b", "/tessera/1/nodes/%4",
        "/tessera/1/nodes/%zz", "/tessera/1/nodes/%FF", "/tessera/1/layouts/a", "nodes/a",
    ])
    func `other texts are no keys`(text: String) { #expect(StoreKey(text) == nil) }

    @Test func `what is followed lies between two keys, and the rooms' states do not`() {
        let keys: [StoreKey] = [.load("a"), .load("~"), .node("0"), .node("~"), .owner("0"), .owner("~~")]
        for key in keys { #expect(StoreArea.followed.begin <= key.text && key.text < StoreArea.followed.end) }
        #expect(StoreKey.room("a").text >= StoreArea.followed.end)
        #expect(StoreArea.rooms.begin <= StoreKey.room("a").text && StoreKey.room("~").text < StoreArea.rooms.end)
    }
}
