import Basics
import Foundation
import Testing

@testable import Cluster

@Suite struct EtcdAnswersTests {
    private static func base64(_ text: String) -> String { Data(text.utf8).base64EncodedString() }

    private static let owner = base64("/tessera/1/owners/r")
    private static let ofNode = base64(#"{"node":"a","incarnation":"i1"}"#)
    /// As etcd 3.4 writes them: 64-bit integers are strings, zeros are left out.
    private static let put =
        #"{"result":{"header":{"cluster_id":"14841639068965178418","member_id":"10276657743932975437","revision":"17","raft_term":"2"},"events":[{"kv":{"key":"\#(owner)","create_revision":"17","mod_revision":"17","version":"1","value":"\#(ofNode)","lease":"7587848"}}]}}"#
    private static let delete =
        #"{"result":{"header":{"revision":"18"},"events":[{"type":"DELETE","kv":{"key":"\#(owner)","mod_revision":"18"}}]}}"#
    private static let compacted =
        #"{"result":{"header":{"revision":"99"},"canceled":true,"compact_revision":"50"}}"#
    private static let noLeader =
        #"{"error":{"grpc_code":14,"http_code":503,"message":"etcdserver: no leader","http_status":"Service Unavailable"}}"#
    private static let transaction =
        #"{"header":{"revision":"9"},"responses":[{"response_range":{"header":{"revision":"9"},"kvs":[{"key":"\#(owner)","mod_revision":"8","value":"\#(ofNode)","lease":"12"}],"count":"1"}}]}"#

    private func changes(_ line: String) throws(StoreError) -> StoreChanges {
        try EtcdAnswer.parse(EtcdAnswer.Watch.self, Data(line.utf8)).changes()
    }

    @Test func `the lines of a watch`() throws {
        let entry = StoreEntry(
            key: .owner("r"), value: .owner(OwnerRecord(node: "a", incarnation: "i1")), revision: 17, lease: 7_587_848)
        #expect(try changes(Self.put) == StoreChanges(changes: [.put(entry)], revision: 17))
        #expect(try changes(Self.delete) == StoreChanges(changes: [.delete(.owner("r"), revision: 18)], revision: 18))
        #expect(throws: StoreError.compacted) { try changes(Self.compacted) }
        #expect(throws: StoreError.unreachable("etcdserver: no leader")) { try changes(Self.noLeader) }
        // Progress proves nothing, and so has no revision.
        #expect(
            try changes(#"{"result":{"header":{"revision":"70"}}}"#) == StoreChanges(changes: [], revision: 0))
        #expect(try changes(#"{"result":{"header":{"revision":"1"},"created":true}}"#).changes == [])
        for line in ["", "{}", "[]", "null", #"{"result":7}"#, #"{"result":{"events":[{"kv":{}}]}}"#] {
            #expect(throws: StoreError.self) { try changes(line) }
        }
    }

    @Test func `a key of others is passed over, and a value that nobody can read leaves its key`() throws {
        let foreign = #"{"result":{"header":{"revision":"5"},"events":[{"kv":{"key":"Zm9v","mod_revision":"5"}}]}}"#
        #expect(try changes(foreign).changes == [])
        let unreadable =
            #"{"result":{"header":{"revision":"5"},"events":[{"kv":{"key":"\#(Self.owner)","value":"eA==","mod_revision":"5"}}]}}"#
        #expect(
            try changes(unreadable).changes == [.put(StoreEntry(key: .owner("r"), value: nil, revision: 5, lease: 0))])
    }

    @Test func `transactions`() throws {
        let answer = try EtcdAnswer.parse(EtcdAnswer.Transaction.self, Data(Self.transaction.utf8))
        let result = try #require(answer.result)
        #expect(!result.isDone && result.revision == 9)
        #expect(result.entry(.owner("r"))?.lease == 12 && result.entry(.owner("other")) == nil)
        // Numbers as other gateways may write them.
        let plain = try EtcdAnswer.parse(
            EtcdAnswer.Transaction.self, Data(#"{"header":{"revision":4},"succeeded":true}"#.utf8))
        #expect(plain.result == TransactionResult(isDone: true, revision: 4))
    }

    @Test(arguments: [
        // 3.4, 3.6, and the shapes within a stream.
        (
            #"{"error":"etcdserver: requested lease not found","message":"etcdserver: requested lease not found","code":5}"#,
            StoreError.leaseGone
        ),
        (#"{"code":5,"message":"etcdserver: requested lease not found","details":[]}"#, .leaseGone),
        (#"{"error":{"grpc_code":5,"http_code":404,"message":"etcdserver: requested lease not found"}}"#, .leaseGone),
        (
            #"{"error":{"code":14,"message":"etcdserver: leader changed","details":[]}}"#,
            .unreachable("etcdserver: leader changed")
        ),
        (#"{"error":"etcdserver: request timed out","code":14}"#, .unreachable("etcdserver: request timed out")),
        (#"{"code":11,"message":"etcdserver: mvcc: required revision has been compacted"}"#, .compacted),
        (#"{"error":"etcdserver: permission denied","code":7}"#, .refused("etcdserver: permission denied")),
        (
            #"{"error":"etcdserver: mvcc: database space exceeded","code":8}"#,
            .refused("etcdserver: mvcc: database space exceeded")
        ),
    ])
    func `errors in all shapes`(text: String, error: StoreError) throws {
        #expect(try EtcdAnswer.parse(EtcdAnswer.Fault.self, Data(text.utf8)).storeError == error)
    }

    @Test func `what asks for a new token`() throws {
        for text in [
            #"{"error":"etcdserver: invalid auth token","code":16}"#,
            #"{"error":"etcdserver: user name is empty","code":3}"#,
        ] {
            #expect(try EtcdAnswer.parse(EtcdAnswer.Fault.self, Data(text.utf8)).isUnauthenticated)
        }
        #expect(throws: StoreError.self) { try EtcdAnswer.parse(EtcdAnswer.Fault.self, Data("{}".utf8)) }
    }

    @Test func `requests are JSON with the keys in base64`() throws {
        let node = StoreCopy.Node(
            record: NodeRecord(id: "a", incarnation: "i", url: "http://a"), lease: 5, revision: 3)
        let text = EtcdRequest.transaction(.place("r", on: node, replacing: 0))
        let json = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        #expect((json["compare"] as? [[String: Any]])?.first?["key"] as? String == Self.owner)
        #expect((json["success"] as? [[String: Any]])?.count == 1 && (json["failure"] as? [[String: Any]])?.count == 2)
        for text in [
            EtcdRequest.grant(.milliseconds(5500)), EtcdRequest.lease(.max),
            EtcdRequest.authenticate(user: #"a"b\"#, password: "\u{0}ü"), EtcdRequest.watch(.followed, from: 1),
            EtcdRequest.range(from: "a", to: "b", limit: 1, revision: 0, hasValues: false),
        ] {
            #expect(throws: Never.self) { try JSONSerialization.jsonObject(with: Data(text.utf8)) }
        }
        #expect(EtcdRequest.grant(.milliseconds(5500)) == #"{"TTL":"6"}"#)
    }

    @Test func `no bytes trap the parsers`() {
        var random = SeededRandom(seed: 13)
        let seeds = [Self.put, Self.delete, Self.compacted, Self.noLeader, Self.transaction].map { Array($0.utf8) }
        let pieces = [
            "\"", "{", "}", "[", "]", ":", ",", "null", "-1", "1e400", "99999999999999999999", "\\ud800", "\u{FF}",
        ]
        .map { Array($0.utf8) }
        var parsed = 0
        for _ in 0..<4000 {
            var bytes = seeds[Int.random(in: 0..<seeds.count, using: &random)]
            for _ in 0..<Int.random(in: 1...4, using: &random) where !bytes.isEmpty {
                let place = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0...3, using: &random) {
                case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
                case 1: bytes.removeSubrange(place..<min(bytes.count, place + 9))
                case 2: bytes.insert(contentsOf: pieces[Int.random(in: 0..<pieces.count, using: &random)], at: place)
                default: bytes.removeLast(bytes.count - place)
                }
            }
            let data = Data(bytes)
            if (try? EtcdAnswer.parse(EtcdAnswer.Watch.self, data).changes()) != nil { parsed += 1 }
            if (try? EtcdAnswer.parse(EtcdAnswer.Transaction.self, data).result) != nil { parsed += 1 }
            _ = try? EtcdAnswer.parse(EtcdAnswer.Fault.self, data).storeError
            _ = try? EtcdAnswer.parse(EtcdAnswer.Range.self, data).kvs?.compactMap(\.entry)
        }
        #expect(parsed > 100, "some stay valid")
        // As deep as an attacker likes.
        let deep = Data(String(repeating: "[", count: 200_000).utf8)
        #expect(throws: StoreError.self) { try EtcdAnswer.parse(EtcdAnswer.Watch.self, deep) }
    }
}
