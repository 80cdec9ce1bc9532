import FoundationEssentials

/// The answers of etcd's JSON gateway. Numbers of 64 bits are strings, and 0, false and empty lists are left out.
enum EtcdAnswer {
    struct Header: Decodable { var revision: Int64Text? }

    struct Grant: Decodable {
        var ID: Int64Text?
        var TTL: Int64Text?
    }

    /// Keepalive is a stream in gRPC, so its answer is wrapped.
    struct Keepalive: Decodable { var result: Grant }

    struct Authentication: Decodable { var token: String }

    struct Pair: Decodable {
        var key: String
        var value: String?
        var mod_revision: Int64Text?
        var lease: Int64Text?

        /// nil for keys that are none of ours.
        var entry: StoreEntry? {
            guard let key = storeKey else { return nil }
            let bytes = Data(base64Encoded: value ?? "")
            return StoreEntry(
                key: key, value: bytes.flatMap { StoreValue($0, of: key) }, revision: mod_revision?.value ?? 0,
                lease: lease?.value ?? 0)
        }

        var storeKey: StoreKey? {
            guard let bytes = Data(base64Encoded: key) else { return nil }
            return String(validating: bytes, as: UTF8.self).flatMap { StoreKey($0) }
        }

        var text: String? { Data(base64Encoded: key).flatMap { String(validating: $0, as: UTF8.self) } }
    }

    struct Range: Decodable {
        var header: Header?
        var kvs: [Pair]?
        var more: Bool?

        /// The revision of the listing; nil: there is none, or none that a watch can go on behind.
        var revision: Int64? { (header?.revision?.value).flatMap { (1..<Int64.max).contains($0) ? $0 : nil } }
    }

    struct Transaction: Decodable {
        struct Response: Decodable { var response_range: Range? }
        var header: Header?
        var succeeded: Bool?
        var responses: [Response]?

        var result: TransactionResult? {
            guard let revision = header?.revision?.value else { return nil }
            let entries = (responses ?? []).flatMap { $0.response_range?.kvs ?? [] }.compactMap(\.entry)
            return TransactionResult(isDone: succeeded ?? false, revision: revision, entries: entries)
        }
    }

    /// One line of a watch.
    struct Watch: Decodable {
        struct Event: Decodable {
            /// Absent: PUT.
            var type: String?
            var kv: Pair?
        }
        struct Result: Decodable {
            var header: Header?
            var created: Bool?
            var canceled: Bool?
            var compact_revision: Int64Text?
            var cancel_reason: String?
            var events: [Event]?
        }
        var result: Result?
        var error: Fault?

        /// The changes of the line; none in a line of progress.
        func changes() throws(StoreError) -> StoreChanges {
            if let error { throw error.storeError }
            guard let result else { throw .unreadable("a line without a result") }
            if let compacted = result.compact_revision?.value, compacted > 0 { throw .compacted }
            if result.canceled == true { throw .unreachable("the watch was ended: \(result.cancel_reason ?? "")") }
            let revision = result.header?.revision?.value ?? 0
            let changes = (result.events ?? []).compactMap { event -> StoreChanges.Change? in
                guard let pair = event.kv else { return nil }
                if event.type == "DELETE" {
                    return pair.storeKey.map { .delete($0, revision: pair.mod_revision?.value ?? revision) }
                }
                return pair.entry.map { .put($0) }
            }
            return StoreChanges(changes: changes, revision: changes.isEmpty ? 0 : revision)
        }
    }

    /// An error: `{"error", "message", "code"}` up to 3.5, `{"message", "code"}` from 3.6 on, and within a stream
    /// `{"error": {"message", "grpc_code"}}` or `{"error": {"message", "code"}}`.
    struct Fault: Decodable {
        var message: String
        var code: Int

        private enum Keys: String, CodingKey { case error, message, code, grpc_code }

        init(from decoder: any Decoder) throws {
            let outer = try decoder.container(keyedBy: Keys.self)
            let inner = try? outer.nestedContainer(keyedBy: Keys.self, forKey: .error)
            let values = inner ?? outer
            let text =
                (try? values.decode(String.self, forKey: .message)) ?? (try? outer.decode(String.self, forKey: .error))
            let number =
                (try? values.decode(Int.self, forKey: .grpc_code)) ?? (try? values.decode(Int.self, forKey: .code))
            guard text != nil || number != nil else {
                throw DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "no error"))
            }
            // 200 characters could have any number of bytes.
            message = String(decoding: (text ?? "").utf8.prefix(200), as: UTF8.self)
            code = number ?? 2
        }

        /// Whether the token of the authentication is no longer valid (code 16), or there was none (code 3).
        var isUnauthenticated: Bool {
            code == 16 || message.contains("invalid auth token") || message.contains("user name is empty")
        }

        /// gRPC's codes: 4 deadline exceeded, 14 unavailable.
        var storeError: StoreError {
            if message.contains("requested lease not found") { return .leaseGone }
            if message.contains("has been compacted") { return .compacted }
            if isUnauthenticated { return .unauthenticated(message) }
            return code == 14 || code == 4 || message.contains("no leader") || message.contains("not capable")
                ? .unreachable(message) : .refused(message)
        }
    }

    static func parse<Answer: Decodable>(_ type: Answer.Type, _ bytes: Data) throws(StoreError) -> Answer {
        do { return try JSONDecoder().decode(type, from: bytes) } catch {
            throw .unreadable("no \(type)")
        }
    }
}

/// A 64-bit integer as text, or as a number as other JSON has it.
struct Int64Text: Decodable {
    var value: Int64

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let text = try? container.decode(String.self) {
            guard let value = Int64(text) else {
                throw DecodingError.dataCorruptedError(in: container, debugDescription: "no 64-bit integer")
            }
            self.value = value
        } else {
            value = try container.decode(Int64.self)
        }
    }
}
