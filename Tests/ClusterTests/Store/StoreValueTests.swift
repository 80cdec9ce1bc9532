import Foundation
import Testing

@testable import Cluster

/// What other nodes, or whoever may write to the store, leave under the keys.
@Suite struct StoreValueTests {
    private let node = NodeRecord(
        id: "a", incarnation: "1x9", url: "http://10.0.0.1:8081", zone: "east", version: "1.0")

    private func read(_ value: StoreValue, of key: StoreKey) -> StoreValue? { StoreValue(Data(value.bytes), of: key) }

    @Test func `what a node writes is read`() {
        var secure = node
        (secure.url, secure.zone, secure.isDraining) = ("https://[fd00::7]:443", "", true)
        for record in [node, secure] { #expect(read(.node(record), of: .node("a")) == .node(record)) }
        let load = NodeLoad(used: 1.2, isFull: true, rooms: 40, seats: 900)
        #expect(read(.load(load), of: .load("a")) == .load(load))
        let owner = OwnerRecord(node: "a", incarnation: "1x9")
        #expect(read(.owner(owner), of: .owner("r")) == .owner(owner))
    }

    @Test func `a record of another id is none of this key`() {
        #expect(read(.node(node), of: .node("b")) == nil)
    }

    @Test(arguments: [
        // Ports that do not fit into 16 bits end a process of SwiftNIO.
        "http://10.0.0.1:65536", "http://10.0.0.1:99999", "http://[::1]:70000", "http://10.0.0.1:0",
        "http://10.0.0.1:-1", "", "10.0.0.1:8081", "http://", "http://:8081",
        "unix:///run/docker.sock", "http+unix://%2Frun%2Fdocker.sock", "ftp://10.0.0.1", "http://10.0.0.1/api",
        "http://10.0.0.1?x", "http://10.0.0.1#x", "http://u:p@10.0.0.1", "http://a\r\nb",
    ])
    func `no node connects to a URL that is no listener`(url: String) {
        var record = node
        record.url = url
        #expect(read(.node(record), of: .node("a")) == nil, "\(url)")
    }

    @Test func `names and versions are short, and of their characters`() {
        for change in [
            { (record: inout NodeRecord) in record.zone = "a\r\nb" }, { $0.incarnation = "" },
            { $0.incarnation = String(repeating: "x", count: 65) }, { $0.version = String(repeating: "1", count: 65) },
        ] {
            var record = node
            change(&record)
            #expect(read(.node(record), of: .node("a")) == nil)
        }
        var other = node
        other.id = "a/b"
        #expect(read(.node(other), of: .node("a/b")) == nil)
    }

    @Test func `a load's numbers can be added up`() {
        for load in [
            NodeLoad(used: 1e300), NodeLoad(used: -1), NodeLoad(rooms: .max), NodeLoad(rooms: -1),
            NodeLoad(seats: .max),
        ] {
            #expect(read(.load(load), of: .load("a")) == nil)
        }
    }
}
