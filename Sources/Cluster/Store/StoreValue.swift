import Basics
import FoundationEssentials

/// The value of a key: JSON in the store.
enum StoreValue: Hashable, Sendable {
    case node(NodeRecord)
    case load(NodeLoad)
    case owner(OwnerRecord)
    /// The state of a room, as its rooms write it.
    case state([UInt8])
    /// The JSON of a layout.
    case layout([UInt8])

    /// The most bytes of a room's state: a transaction of etcd has at most 1.5 MiB, and base64 adds a third.
    static let stateBytes = 512 << 10

    var bytes: [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // A number that JSON cannot express (NaN) is the only thing that fails here.
        switch self {
        case .node(let record): return [UInt8]((try? encoder.encode(record)) ?? Data())
        case .load(let load): return [UInt8]((try? encoder.encode(load)) ?? Data())
        case .owner(let owner): return [UInt8]((try? encoder.encode(owner)) ?? Data())
        case .state(let bytes), .layout(let bytes): return bytes
        }
    }

    /// nil: it is not what belongs under this key.
    init?(_ bytes: Data, of key: StoreKey) {
        let decoder = JSONDecoder()
        switch key {
        case .node(let id):
            guard bytes.count <= 4096, let record = try? decoder.decode(NodeRecord.self, from: bytes), record.id == id,
                record.isUsable
            else { return nil }
            self = .node(record)
        case .load:
            guard bytes.count <= 4096, let load = try? decoder.decode(NodeLoad.self, from: bytes), load.isUsable else {
                return nil
            }
            self = .load(load)
        case .owner:
            guard bytes.count <= 4096, let owner = try? decoder.decode(OwnerRecord.self, from: bytes) else {
                return nil
            }
            self = .owner(owner)
        case .room:
            guard bytes.count <= Self.stateBytes else { return nil }
            self = .state([UInt8](bytes))
        case .layout:
            guard !bytes.isEmpty, bytes.count <= LayoutDocument.maxBytes else { return nil }
            self = .layout([UInt8](bytes))
        }
    }
}

/// The value of `owners/<room>`.
struct OwnerRecord: Hashable, Sendable, Codable {
    /// The owner's id.
    var node: String
    var incarnation: String
}

/// A key with its value, as the store has it.
struct StoreEntry: Hashable, Sendable {
    var key: StoreKey
    /// nil: nobody can read it, but the key is there.
    var value: StoreValue?
    /// The revision of the last write.
    var revision: Int64
    /// 0: it goes with no lease.
    var lease: Int64
}
