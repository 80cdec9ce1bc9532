import Conference

/// A named view of rooms as the settings have it, without a preset.
package struct ConfiguredView: Hashable, Sendable {
    package let layout: String
    /// In pixels.
    package let width: Int
    package let height: Int
    /// Whether tiles show names; nil: as the layout says.
    package let names: Bool?
}

extension TesseraConfiguration {
    /// The names of the views of rooms, `main` first.
    package var viewNames: [String] { rooms.settings.viewNames }

    /// The view of this name; nil: there is none.
    ///
    /// - Parameters:
    ///   - presenting: whether somebody presents.
    ///   - withOwnRules: the layouts with rules for presenting.
    package func view(_ name: String, presenting: Bool, withOwnRules: Set<String>) -> ConfiguredView? {
        rooms.settings.view(name, presenting: presenting, withOwnRules: withOwnRules).map { view in
            ConfiguredView(layout: view.shown.name, width: view.width, height: view.height, names: view.names)
        }
    }
}
