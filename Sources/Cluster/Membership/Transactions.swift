/// The transactions of the nodes on their keys.
extension Transaction {
    /// Writes a node's record. `revision`: of the record that is replaced; 0: there is none.
    static func register(_ record: NodeRecord, lease: Int64, replacing revision: Int64) -> Transaction {
        let key = StoreKey.node(record.id)
        return Transaction(
            conditions: [Condition(key: key, revision: revision)],
            operations: [.put(key, .node(record), lease: lease)], otherwise: [.read(key)])
    }

    /// Gives a room to a node that is registered as the copy has it: alive, and not draining since.
    ///
    /// - Parameter revision: of the owner that is replaced; 0: there is none.
    static func place(_ room: String, on node: StoreCopy.Node, replacing revision: Int64) -> Transaction {
        let (key, record) = (StoreKey.owner(room), node.record)
        let owner = OwnerRecord(node: record.id, incarnation: record.incarnation)
        return Transaction(
            conditions: [
                Condition(key: key, revision: revision), Condition(key: .node(record.id), revision: node.revision),
            ], operations: [.put(key, .owner(owner), lease: node.lease)],
            otherwise: [.read(key), .read(.node(record.id))])
    }

    /// Takes away the owner of a room that has ended, and replaces its state by what outlives it.
    static func release(_ room: String, epoch: Int64, leaving state: [UInt8], lease: Int64) -> Transaction {
        Transaction(
            conditions: [Condition(key: .owner(room), revision: epoch)],
            operations: [.delete(.owner(room)), .put(.room(room), .state(state), lease: lease)],
            otherwise: [.read(.owner(room))])
    }

    /// Takes away a room's owner, and its state with it where the room has ended.
    static func release(_ room: String, epoch: Int64, withState: Bool) -> Transaction {
        Transaction(
            conditions: [Condition(key: .owner(room), revision: epoch)],
            operations: [.delete(.owner(room))] + (withState ? [.delete(.room(room))] : []),
            otherwise: [.read(.owner(room))])
    }
}
