import Basics
import Foundation
import Fuzzing

@testable import Cluster

/// What the store of a cluster sends: answers, lines of a watch, keys and values.
enum StoreBodies {
    static let all = [answers, watch, values, RoomStateBody.target]

    private static let words = [
        "\"header\":{\"revision\":\"9\"}", "\"kvs\":[", "\"kv\":{", "\"key\":\"", "\"value\":\"", "\"mod_revision\":",
        "\"lease\":", "\"more\":true", "\"events\":[", "\"type\":\"DELETE\"", "\"response_range\":", "\"result\":",
        "\"error\":", "\"code\":", "null", "\"9223372036854775807\"", "9223372036854775808", "-1", "1e400", "[[",
        base64(node), base64(load), base64(owner), base64("/tessera/1/owners/r"),
    ]
    private static let node =
        #"{"id":"a","incarnation":"i","url":"http://10.0.0.1:8081","zone":"","protocol":1,"version":"1","isDraining":false}"#
    private static let load = #"{"used":0.5,"isFull":false,"rooms":3,"seats":9}"#
    private static let owner = #"{"node":"a","incarnation":"i"}"#

    private static func base64(_ text: String) -> String { Data(text.utf8).base64EncodedString() }

    private static func pair(_ key: StoreKey, _ value: String) -> String {
        #"{"key":"\#(base64(key.text))","mod_revision":"7","lease":"5","value":"\#(base64(value))"}"#
    }

    /// The whole input as the answer of each call; what it says goes into a node's copy of the store.
    private static let answers = FuzzTarget(
        "etcd", covers: "answers of etcd's JSON gateway", limits: WorkLimits(perByte: .microseconds(8)),
        maximumLength: 65_536, words: words,
        seeds: {
            let pairs = [pair(.node("a"), node), pair(.load("a"), load), pair(.owner("r"), owner)].joined(
                separator: ",")
            return [
                #"{"header":{"revision":"9"},"kvs":[\#(pairs)],"more":true,"count":"3"}"#,
                #"{"header":{"revision":"9"},"succeeded":true,"responses":[{"response_range":{"kvs":[\#(pairs)]}}]}"#,
                #"{"header":{"revision":"3"},"ID":"77","TTL":"6"}"#, #"{"result":{"ID":"5","TTL":"4"}}"#,
                #"{"token":"name.17"}"#, #"{"error":{"grpc_code":14,"message":"etcdserver: no leader"}}"#,
                #"{"error":"etcdserver: requested lease not found","code":5}"#,
            ].map { Array($0.utf8) }
        }
    ) { input, work in
        work.step(bytes: input.bytes.count)
        let bytes = Data(input.bytes)
        var copy = StoreCopy(id: "a")
        if let range = try? EtcdAnswer.parse(EtcdAnswer.Range.self, bytes) {
            let entries = (range.kvs ?? []).compactMap(\.entry)
            if let revision = range.revision {
                _ = copy.replace(StoreListing(entries: entries, revision: revision), at: .zero)
                _ = EtcdRequest.watch(.followed, from: revision + 1)
            }
            _ = range.kvs?.last?.text
        }
        if let result = try? EtcdAnswer.parse(EtcdAnswer.Transaction.self, bytes).result {
            for entry in result.entries { _ = copy.learn(entry, at: .zero) }
        }
        _ = try? EtcdAnswer.parse(EtcdAnswer.Grant.self, bytes)
        _ = try? EtcdAnswer.parse(EtcdAnswer.Keepalive.self, bytes)
        _ = try? EtcdAnswer.parse(EtcdAnswer.Authentication.self, bytes)
        if let fault = try? EtcdAnswer.parse(EtcdAnswer.Fault.self, bytes) {
            if fault.message.utf8.count > 210 { fatalError("etcd: a fault without end") }
            _ = (fault.storeError, fault.isUnauthenticated)
        }
        decide(by: copy)
        work.weigh()
    }

    /// The body of a watch, whole and in parts of a few bytes: the lines are the same.
    private static let watch = FuzzTarget(
        "watch", covers: "lines of etcd's watch", limits: WorkLimits(perByte: .microseconds(8)),
        maximumLength: 65_536, words: words + ["\n"],
        seeds: {
            let put = [pair(.node("a"), node), pair(.load("a"), load), pair(.owner("r"), owner)].map {
                #"{"kv":\#($0)}"#
            }
            let lines = [
                #"{"result":{"header":{"revision":"7"},"created":true}}"#,
                #"{"result":{"header":{"revision":"8"},"events":[\#(put.joined(separator: ","))]}}"#,
                #"{"result":{"header":{"revision":"9"},"events":[{"type":"DELETE","kv":\#(pair(.owner("r"), ""))}]}}"#,
                #"{"result":{"header":{"revision":"9"},"canceled":true,"compact_revision":"5"}}"#, "",
                #"{"error":{"grpc_code":14,"message":"etcdserver: no leader"}}"#,
            ]
            return (lines + [lines.joined(separator: "\n")]).map { Array($0.utf8) }
        }
    ) { input, work in
        work.step(bytes: input.bytes.count)
        let whole = lines(input.bytes, read: max(1, input.bytes.count))
        precondition(whole == lines(input.bytes, read: 7), "the lines depend on the size of reads")
        var copy = StoreCopy(id: "a")
        for line in whole {
            guard let changes = try? EtcdAnswer.parse(EtcdAnswer.Watch.self, line).changes() else { continue }
            _ = copy.apply(changes, at: .zero)
        }
        decide(by: copy)
        work.weigh()
    }

    private static func lines(_ bytes: [UInt8], read size: Int) -> [Data] {
        var reader = WatchLineReader()
        var lines: [Data] = []
        for start in stride(from: 0, to: bytes.count, by: size) {
            guard
                let more = try? reader.lines(completedBy: Data(bytes[start..<min(start + size, bytes.count)]))
            else { break }
            lines += more
        }
        return reader.rest.isEmpty ? lines : lines + [reader.rest]
    }

    /// A key in the first line, and its value behind that.
    private static let values = FuzzTarget(
        "stored", covers: "keys and values of the store", limits: WorkLimits(perByte: .microseconds(8)),
        maximumLength: 8192,
        words: [
            "/tessera/1/nodes/", "/tessera/1/load/", "/tessera/1/owners/", "/tessera/1/rooms/", "%2F", "\n", ":65536",
            "\"url\":\"http://", "https://[::1]", "\"used\":", "1e308", "9223372036854775807",
        ],
        seeds: {
            [
                "/tessera/1/nodes/a\n" + node, "/tessera/1/load/a\n" + load,
                "/tessera/1/owners/Stra%C3%9Fe%207\n" + owner,
                "/tessera/1/rooms/r\n{}", "/tessera/1/owners/~socketIO\n" + owner,
            ].map { Array($0.utf8) }
        }
    ) { input, work in
        work.step(bytes: input.bytes.count)
        let parts = input.bytes.split(separator: 10, maxSplits: 1, omittingEmptySubsequences: false)
        guard let key = StoreKey(String(decoding: parts[0], as: UTF8.self)) else { return }
        if StoreKey(key.text) != key { fatalError("stored: a key that is not what it was") }
        guard parts.count > 1, let value = StoreValue(Data(parts[1]), of: key) else { return }
        if StoreValue(Data(value.bytes), of: key) != value { fatalError("stored: a value that is not what it was") }
        if case .node(let record) = value {
            // SwiftNIO traps at a port that has more than 16 bits.
            guard let url = URL(string: record.url), let host = url.host(), !host.isEmpty,
                url.port.map({ UInt16(exactly: $0) != nil }) ?? true
            else { fatalError("stored: a node that nobody can connect to") }
        }
        var copy = StoreCopy(id: "a")
        _ = copy.learn(StoreEntry(key: key, value: value, revision: 1, lease: 1), at: .zero)
        decide(by: copy)
        work.weigh()
    }

    /// What a node decides by its copy of the store.
    private static func decide(by copy: StoreCopy) {
        var (copy, random, holdings) = (copy, SeededRandom(seed: 1), OwnedRooms())
        var placement = Placement("r", .best)
        let step = placement.next(&copy, isSure: true, at: .zero, &random)
        if case .commit(let transaction) = step { _ = EtcdRequest.transaction(transaction) }
        _ = holdings.reconcile(["r", "s"], with: copy, incarnation: "i", lease: 5, at: .zero)
        let nodes = copy.nodes.values.map {
            ClusterView.Node(record: $0.record, load: $0.load, rooms: $0.rooms)
        }
        let view = ClusterView(standing: .sure, nodes: nodes)
        _ = ClusterCounts().samples(view, owned: copy.owners.count, errors: 0)
    }
}
