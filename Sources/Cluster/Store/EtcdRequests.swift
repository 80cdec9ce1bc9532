import Basics
import FoundationEssentials

/// The bodies of the calls of etcd's JSON gateway: 64-bit integers and bytes are strings, the latter in base64.
enum EtcdRequest {
    static func grant(_ ttl: Duration) -> String { #"{"TTL":"\#(Int(ttl.inSeconds.rounded(.up)))"}"# }
    static func lease(_ id: Int64) -> String { #"{"ID":"\#(id)"}"# }

    static func authenticate(user: String, password: String) -> String {
        let body = try? JSONEncoder().encode(["name": user, "password": password])
        return String(decoding: body ?? Data(), as: UTF8.self)
    }

    /// - Parameters:
    ///   - begin: the first key.
    ///   - revision: 0 is the newest.
    static func range(from begin: String, to end: String, limit: Int, revision: Int64, hasValues: Bool) -> String {
        #"{"key":"\#(base64(begin))","range_end":"\#(base64(end))","limit":"\#(limit)","revision":"\#(revision)","keys_only":\#(!hasValues)}"#
    }

    static func transaction(_ transaction: Transaction) -> String {
        let conditions = transaction.conditions.map { condition in
            #"{"result":"EQUAL","target":"MOD","key":"\#(base64(condition.key.text))","mod_revision":"\#(condition.revision)"}"#
        }
        return
            #"{"compare":[\#(conditions.joined(separator: ","))],"success":[\#(list(transaction.operations))],"failure":[\#(list(transaction.otherwise))]}"#
    }

    private static func list(_ operations: [Transaction.Operation]) -> String {
        operations.map { operation in
            switch operation {
            case .put(let key, let value, let lease):
                let value = Data(value.bytes).base64EncodedString()
                return #"{"request_put":{"key":"\#(base64(key.text))","value":"\#(value)","lease":"\#(lease)"}}"#
            case .delete(let key): return #"{"request_delete_range":{"key":"\#(base64(key.text))"}}"#
            case .read(let key): return #"{"request_range":{"key":"\#(base64(key.text))"}}"#
            }
        }.joined(separator: ",")
    }

    static func watch(_ area: StoreArea, from revision: Int64) -> String {
        #"{"create_request":{"key":"\#(base64(area.begin))","range_end":"\#(base64(area.end))","start_revision":"\#(revision)","progress_notify":true}}"#
    }

    private static func base64(_ text: String) -> String { Data(text.utf8).base64EncodedString() }
}
