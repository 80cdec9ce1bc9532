import Basics
import Mixing

extension Conference {
    public func layouts() -> [LayoutInfo] {
        layoutLibrary.all.map { LayoutInfo(name: $0.name, description: $0.description) }
    }

    /// Adds or replaces a layout at run time, after the same checks as files get. Rooms that use it change at once.
    public func putLayout(_ name: String, json: [UInt8]) throws(ConferenceError) {
        guard Layout.isName(name) else { throw .badRequest("A layout's name has 1 to 64 of a-z, 0-9, - and _.") }
        do {
            _ = try layoutLibrary.put(name: name, json: json)
        } catch {
            throw Self.translate(error)
        }
        relayout([name])
    }

    public func deleteLayout(_ name: String) throws(ConferenceError) {
        let isUsed = state.withLock { state in
            state.rooms.values.contains { slot in
                slot.room.settings.layout == name || slot.room.members.contains { $0.view?.layout == name }
            }
        }
        if isUsed || configuration.rooms.settings.layout == name { throw .layoutInUse(name) }
        do {
            try layoutLibrary.delete(name: name)
        } catch {
            throw Self.translate(error)
        }
    }

    private static func translate(_ error: LayoutLibrary.StoreError) -> ConferenceError {
        switch error {
        case .faults(let faults): .badLayout(faults.faults.map(\.description))
        case .unknown(let name): .unknownLayout(name)
        case .builtIn(let name): .layoutInUse(name)
        case .file: .internalFailure(error.description)
        }
    }

    /// Files may have changed: running rooms take them up, broken ones are told once and the last good state stays.
    func pollLayouts() {
        let change = layoutLibrary.poll()
        for fault in change.faults { logger.warning("\(fault)") }
        if !change.changed.isEmpty { relayout(change.changed) }
    }

    private func relayout(_ names: Set<String>) {
        let rooms = state.withLock { state in
            state.rooms.filter { _, slot in
                names.contains(slot.room.settings.layout)
                    || slot.room.members.contains { $0.view.map { names.contains($0.layout) } ?? false }
            }.map(\.key)
        }
        // A change without a change publishes the scene anew, with the layouts as they are now.
        for room in rooms { _ = try? change(room) { _ throws(ConferenceError) in } }
    }
}
